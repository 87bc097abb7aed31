package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// How long processes in a lab that goes down have to end by themselves.
const (
	endTime   = time.Second
	endedPoll = 20 * time.Millisecond
)

// Down removes a lab with everything in it, complete or not: programs that run
// in its namespaces are ended, since a namespace lives as long as they do. A lab
// that does not exist is fine.
func Down(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: name %q: use up to 16 lower-case letters and digits", ErrOptions, name)
	}
	namespaces, err := namespacesOf(name)
	if err != nil || len(namespaces) == 0 {
		return err
	}
	if err := endProcesses(namespaces); err != nil {
		return err
	}
	var failures []error
	for _, namespace := range namespaces {
		err := deleteNamespace(namespace)
		failures = append(failures, err)
		if errors.Is(err, ErrPrivilege) {
			break // the others would say the same
		}
	}
	return errors.Join(failures...)
}

// endProcesses ends what runs in the namespaces: with a request first, and by
// force where that is ignored.
func endProcesses(namespaces []string) error {
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		for deadline := time.Now().Add(endTime); ; time.Sleep(endedPoll) {
			processes, err := processesIn(namespaces)
			if err != nil || len(processes) == 0 {
				return err
			}
			if time.Now().After(deadline) {
				break
			}
			for _, pid := range processes {
				// It may have ended by now, which is what was wanted.
				_ = unix.Kill(pid, signal)
			}
		}
	}
	processes, err := processesIn(namespaces)
	if err == nil && len(processes) > 0 {
		err = fmt.Errorf("processes %v in the lab do not end", processes)
	}
	return err
}

// processesIn finds the processes whose network namespace is one of those named.
func processesIn(namespaces []string) ([]int, error) {
	type inode struct{ device, number uint64 }
	wanted := map[inode]bool{}
	for _, namespace := range namespaces {
		var s unix.Stat_t
		if unix.Stat(filepath.Join(namespaceDir, namespace), &s) == nil {
			wanted[inode{s.Dev, s.Ino}] = true
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var s unix.Stat_t
		if unix.Stat(filepath.Join("/proc", entry.Name(), "ns/net"), &s) == nil && wanted[inode{s.Dev, s.Ino}] {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found, nil
}
