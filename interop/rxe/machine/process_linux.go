package machine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// process is a child that ends with this process.
type process struct {
	cmd    *exec.Cmd
	output console
	ended  chan struct{} // closed when err is known
	err    error
}

// startProcess starts a child that has a file as its descriptor 3.
func startProcess(file *os.File, args []string) (*process, error) {
	p := &process{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	p.cmd.ExtraFiles = []*os.File{file}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel kills the child when the thread that started it ends, so the
		// thread stays with this goroutine until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return p, nil
}

func (p *process) kill() {
	// It fails only if the process has ended already.
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// console keeps what a process prints.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}
