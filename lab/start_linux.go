package lab

import (
	"net"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Start starts a command in a node. Nothing else of it is changed: files,
// processes and users are the machine's.
func (n *Network) Start(node string, cmd *exec.Cmd) error {
	if _, err := n.Node(node); err != nil {
		return err
	}
	return inside(n.Namespace(node), cmd.Start)
}

// Exec replaces this process by a program in a node, and does not return unless
// that fails.
func (n *Network) Exec(node, path string, args, environment []string) error {
	if _, err := n.Node(node); err != nil {
		return err
	}
	return inside(n.Namespace(node), func() error { return unix.Exec(path, args, environment) })
}

// Listen listens at a TCP address of a node: this process is reached from there beside the network of the lab.
func (n *Network) Listen(node, address string) (l net.Listener, err error) {
	if _, err := n.Node(node); err != nil {
		return nil, err
	}
	err = inside(n.Namespace(node), func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l, err
}
