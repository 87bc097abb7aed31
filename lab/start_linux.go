package lab

import (
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
