package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Isolate runs this program once more, with further variables in its
// environment, in a network namespace of its own, and returns that run's exit
// status. Addresses, devices and filter rules end with the namespace, and those
// of the host are out of its reach, as is the rest of the world.
func Isolate(environment ...string) (status int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	// The signal comes when the thread that started the process ends, so this one
	// has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%w: a network namespace: %w", ErrUnavailable, err)
	}
	// Its outcome is the status; a process without one was killed.
	_ = cmd.Wait()
	if status = cmd.ProcessState.ExitCode(); status < 0 {
		status = 1
	}
	return status, nil
}
