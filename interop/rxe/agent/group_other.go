//go:build !unix

package agent

import "os/exec"

// endWithGroup does nothing where there are no process groups.
func endWithGroup(*exec.Cmd) {}
