package traffic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Starter starts programs in the hosts of a lab.
type Starter interface {
	Start(node string, cmd *exec.Cmd) error
}

// process is an agent as its parent sees it.
type process struct {
	host   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	orders *json.Encoder
	stderr bytes.Buffer

	reports chan report // closed when the agent's output ends
	ending  sync.Once
}

// startProcess starts an agent in a host.
func startProcess(lab Starter, host string, argv []string, record func(*arrivals)) (*process, error) {
	p := &process{host: host, cmd: exec.Command(argv[0], argv[1:]...), reports: make(chan report, 4)}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.orders = json.NewEncoder(p.stdin)
	if err := lab.Start(host, p.cmd); err != nil {
		return nil, fmt.Errorf("%w: in %s: %w", ErrAgent, host, err)
	}
	go p.read(stdout, record)
	return p, nil
}

// read passes on what the agent says.
func (p *process) read(stdout io.Reader, record func(*arrivals)) {
	defer close(p.reports)
	lines := json.NewDecoder(stdout)
	for {
		var r report
		if lines.Decode(&r) != nil {
			return
		}
		if r.Arrivals != nil {
			record(r.Arrivals)
			continue
		}
		p.reports <- r
	}
}

// await waits for the next report.
func (p *process) await(what string, limit time.Duration) (report, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r, ok := <-p.reports:
		if r.Error != "" {
			return r, fmt.Errorf("%w: in %s: %s", ErrAgent, p.host, r.Error)
		}
		if !ok {
			p.close()
			return r, fmt.Errorf("%w: in %s: it ended before its %s: %s", ErrAgent, p.host, what, bytes.TrimSpace(p.stderr.Bytes()))
		}
		return r, nil
	case <-timer.C:
		return report{}, fmt.Errorf("%w: in %s: no %s within %v", ErrAgent, p.host, what, limit)
	}
}

// order tells the agent something. One that is gone is found out by await.
func (p *process) order(c command) { _ = p.orders.Encode(c) }

// close ends the agent.
func (p *process) close() {
	p.ending.Do(func() {
		_ = p.stdin.Close()
		_ = p.cmd.Process.Kill()
		for range p.reports { //nolint:revive // what it says no longer matters
		}
		_ = p.cmd.Wait()
	})
}
