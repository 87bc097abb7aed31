//go:build !linux

package lab

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"time"
)

// errSystem is what every function of this package returns here.
var errSystem = fmt.Errorf("%w: the lab is made of Linux network namespaces, and this is %s", ErrFeature, runtime.GOOS)

// Network is a lab that is up.
type Network struct {
	*Plan
}

// Up builds a lab, on Linux.
func Up(context.Context, Options) (*Network, error) { return nil, errSystem }

// Open finds a lab that is up, on Linux.
func Open(string) (*Network, error) { return nil, errSystem }

// Down removes a lab, on Linux.
func Down(string) error { return errSystem }

// Status reads the condition of the lab, on Linux.
func (n *Network) Status() (*Status, error) { return nil, errSystem }

// Start starts a command in a node, on Linux.
func (n *Network) Start(string, *exec.Cmd) error { return errSystem }

// Listen listens at an address of a node, on Linux.
func (n *Network) Listen(string, string) (net.Listener, error) { return nil, errSystem }

// Exec replaces this process by a program in a node, on Linux.
func (n *Network) Exec(string, string, []string, []string) error { return errSystem }

// EnableMPTCP prepares a host for MPTCP, on Linux.
func (n *Network) EnableMPTCP(string) error { return errSystem }

// Cut cuts a path, on Linux.
func (n *Network) Cut(int, Direction) error { return errSystem }

// Restore restores a path, on Linux.
func (n *Network) Restore(int) error { return errSystem }

// SetLoss makes a path lose packets, on Linux.
func (n *Network) SetLoss(int, float64, Direction) error { return errSystem }

// SetRate changes the rate of a path, on Linux.
func (n *Network) SetRate(int, int64) error { return errSystem }

// SetThreshold changes the ECN threshold of a path, on Linux.
func (n *Network) SetThreshold(int, time.Duration) error { return errSystem }

// Flap cuts and restores a path in turns, on Linux.
func (n *Network) Flap(context.Context, int, time.Duration) error { return errSystem }
