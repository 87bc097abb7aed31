//go:build unix

package agent

import (
	"os/exec"
	"syscall"
)

// endWithGroup makes the end of a command the end of what it started, too.
func endWithGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
