package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// namespaceDir is where named namespaces are mounted, as the ip command does it:
// `ip netns` shows those of a lab too.
const namespaceDir = "/run/netns"

// inside runs f in a thread that is in the named namespace. What f starts or
// opens stays there: processes, sockets.
func inside(namespace string, f func() error) error {
	target, err := netns.GetFromName(namespace)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	defer target.Close()
	return onOwnThread(func() error {
		if err := netns.Set(target); err != nil {
			return explain(err, "entering namespace "+namespace, "network namespaces")
		}
		return f()
	})
}

// onOwnThread runs f in a thread whose namespace f may change. The thread ends
// with f: it is never unlocked, so the runtime gives it to nobody else.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// createNamespace makes a namespace with its loopback interface up.
func createNamespace(name string) error {
	return onOwnThread(func() error {
		handle, err := netns.NewNamed(name)
		if err != nil {
			return explain(err, "creating namespace "+name, "network namespaces")
		}
		defer handle.Close()
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
}

// deleteNamespace unmounts a namespace, which frees it and its interfaces as soon
// as nothing runs in it. One that is gone already is fine.
func deleteNamespace(name string) error {
	path := filepath.Join(namespaceDir, name)
	// EINVAL: a process that was killed between the two steps of the creation left
	// a file on which nothing is mounted.
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return explain(err, "removing namespace "+name, "network namespaces")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// namespacesOf lists what exists of a lab.
func namespacesOf(lab string) ([]string, error) {
	entries, err := os.ReadDir(namespaceDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), lab+"-") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// handleAt opens netlink in a namespace; the caller closes it.
func handleAt(namespace string) (*netlink.Handle, error) {
	ns, err := netns.GetFromName(namespace)
	if err != nil {
		return nil, fmt.Errorf("%w: namespace %s: %w", ErrNotUp, namespace, err)
	}
	defer ns.Close()
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, explain(err, "opening netlink in namespace "+namespace, "network namespaces")
	}
	return handle, nil
}

// setSysctl writes a kernel setting of the thread's namespace.
func setSysctl(name, value string) error {
	path := filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		return explain(err, "setting "+name, name)
	}
	return nil
}

// explain names what is missing: the privilege, or the kernel's feature that the
// action needs.
func explain(err error, action, feature string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: %s: %w: the lab needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_BPF)", ErrPrivilege, action, err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w: %s: %w: this kernel seems to lack %s", ErrFeature, action, err, feature)
	}
	return fmt.Errorf("%s: %w", action, err)
}
