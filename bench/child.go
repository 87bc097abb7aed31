package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// grace is how long a measurement may last beyond the time that it measures:
// process start, connection setup and the last report.
const grace = 15 * time.Second

// maxDiagnostics bounds how much of a child's standard error an error quotes.
const maxDiagnostics = 600

// A child is a process that lives no longer than its context. It leads a
// process group of its own, so that its own children end with it.
type child struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

// startChild starts a program and returns with its output connected. The
// variables are added to this process's environment.
func startChild(ctx context.Context, variables []string, name string, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A grandchild that escaped the group must not hold the pipes open for ever.
	cmd.WaitDelay = time.Second
	c := &child{cmd: cmd, stderr: &bytes.Buffer{}}
	cmd.Stderr = c.stderr
	// A child that watches its standard input learns of our death even when we
	// are killed; the pipe closes with this process.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReader(stdout)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return c, nil
}

// awaitLine reads the child's output up to the first line that contains text.
func (c *child) awaitLine(text string) (string, error) {
	for {
		line, err := c.stdout.ReadString('\n')
		if strings.Contains(line, text) {
			return strings.TrimSpace(line), nil
		}
		if err != nil {
			return "", fmt.Errorf("%s ended without saying %q: %s", c.cmd.Path, text, c.diagnostics())
		}
	}
}

// finish reads the rest of the output and waits for the end of the process.
func (c *child) finish() ([]byte, error) {
	output, readErr := io.ReadAll(c.stdout)
	err := c.cmd.Wait()
	if err != nil {
		return output, fmt.Errorf("%s: %w: %s", c.cmd.Path, err, c.diagnostics())
	}
	return output, readErr
}

// kill ends the process, its children, and the wait for them. It is harmless
// after finish.
func (c *child) kill() {
	// The group may be gone already, which is what we want.
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	_ = c.cmd.Wait()
}

// diagnostics is what the child last said on standard error. It is read after
// the child closed its output, so a line may still be on its way; an error text
// can live with that, the race detector cannot, hence the wait.
func (c *child) diagnostics() string {
	_ = c.cmd.Wait()
	text := strings.TrimSpace(c.stderr.String())
	if text == "" {
		return "no diagnostics"
	}
	if len(text) > maxDiagnostics {
		text = "…" + text[len(text)-maxDiagnostics:]
	}
	return text
}

// runProgram runs a program to its end and returns its standard output.
func runProgram(ctx context.Context, name string, args ...string) ([]byte, error) {
	c, err := startChild(ctx, nil, name, args...)
	if err != nil {
		return nil, err
	}
	defer c.kill()
	return c.finish()
}
