package braid

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
)

// Row 52: in a network of its own, a second process loses the interface for a moment, which its channel survives,
// and then the address, which it does not; with the address back it connects again.
func TestFault52AddressRemoved(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: there is no ip command")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+roleAddresses)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("SKIPPED: no network of its own: %v", err)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

const roleAddresses = "addresses"

func init() { childRoles[roleAddresses] = loseAddress }

// ip runs the command of that name.
func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}

func loseAddress() error {
	here, there := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
	if err := errors.Join(ip("link", "set", "lo", "up"), ip("addr", "add", here.String()+"/32", "dev", "lo"), ip("addr", "add", there.String()+"/32", "dev", "lo")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := openDeviceAt(here)
	if err != nil {
		return err
	}
	defer client.Close()
	server, err := openDeviceAt(there)
	if err != nil {
		return err
	}
	defer server.Close()
	l, err := server.Listen(0)
	if err != nil {
		return err
	}
	go l.Serve(ctx, echo)
	ch, err := client.Dial(ctx, l.Addr().String())
	if err != nil {
		return err
	}
	if err := ip("link", "set", "lo", "down"); err != nil {
		return err
	}
	up := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { up <- ip("link", "set", "lo", "up") })
	m, err := ch.Call(ctx, []byte("while the interface is down"))
	if err := errors.Join(err, <-up); err != nil {
		return err
	}
	m.Release()
	if err := ip("addr", "del", here.String()+"/32", "dev", "lo"); err != nil {
		return err
	}
	if _, err := ch.Call(ctx, []byte("without an address")); err == nil || ctx.Err() != nil {
		return fmt.Errorf("without an address: %w", err)
	}
	<-ch.Done()
	if err := ip("addr", "add", here.String()+"/32", "dev", "lo"); err != nil {
		return err
	}
	if ch, err = client.Dial(ctx, l.Addr().String()); err != nil {
		return fmt.Errorf("with the address back: %w", err)
	}
	if m, err = ch.Call(ctx, []byte("again")); err == nil {
		m.Release()
	}
	return err
}

// openDeviceAt opens a context at an address of the host.
func openDeviceAt(address netip.Addr) (*Context, error) {
	cfg := impatient
	var err error
	if cfg.Device, err = udp.Open(udp.Config{Addr: address}); err != nil {
		return nil, err
	}
	return Open(cfg)
}
