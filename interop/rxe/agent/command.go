package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// Command is a command that runs behind an agent.
type Command struct {
	args   []string
	conn   net.Conn
	frames *frameWriter
	output *io.PipeReader
	ended  chan struct{} // closed when status and err are known
	status int
	err    error

	mu   sync.Mutex
	text bytes.Buffer // both outputs so far
}

// ExitError is a command that ended with another status than zero.
type ExitError struct {
	Args   []string
	Status int
	Output string // what it printed, on both outputs
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s: exit status %d\n%s", strings.Join(e.Args, " "), e.Status, e.Output)
}

// Start runs a command behind the agent at an address. When ctx ends, so does
// the command.
func Start(ctx context.Context, address string, args ...string) (*Command, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	c := &Command{args: args, conn: conn, frames: &frameWriter{w: conn}, ended: make(chan struct{})}
	text, err := json.Marshal(request{Args: args})
	if err == nil {
		err = c.frames.write(frameRequest, text)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("agent: %w", err)
	}
	var output *io.PipeWriter
	c.output, output = io.Pipe()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	go func() {
		defer stop()
		c.receive(ctx, output)
	}()
	return c, nil
}

// receive takes what the agent says until the command has ended.
func (c *Command) receive(ctx context.Context, output *io.PipeWriter) {
	defer close(c.ended)
	defer output.Close()
	defer c.conn.Close()
	for {
		kind, payload, err := readFrame(c.conn)
		switch {
		case err != nil && ctx.Err() != nil:
			c.err = fmt.Errorf("%s: %w\n%s", strings.Join(c.args, " "), context.Cause(ctx), c.Output())
			return
		case err != nil:
			c.err = fmt.Errorf("agent: %s: %w", strings.Join(c.args, " "), err)
			return
		case kind == frameExit:
			c.finish(payload)
			return
		case kind == frameOutput || kind == frameErrors:
			c.mu.Lock()
			c.text.Write(payload)
			c.mu.Unlock()
		}
		if kind == frameOutput {
			// Who does not read the pipe has closed it.
			_, _ = output.Write(payload)
		}
	}
}

func (c *Command) finish(payload []byte) {
	var end outcome
	if err := json.Unmarshal(payload, &end); err != nil {
		c.err = fmt.Errorf("%w: %w", ErrFrame, err)
		return
	}
	c.status = end.Status
	switch {
	case end.Error != "":
		c.err = fmt.Errorf("agent: %s: %s\n%s", strings.Join(c.args, " "), end.Error, c.Output())
	case end.Status != 0:
		c.err = &ExitError{Args: c.args, Status: end.Status, Output: c.Output()}
	}
}

// Write sends bytes to the command's standard input.
func (c *Command) Write(p []byte) (int, error) { return stream{c.frames, frameInput}.Write(p) }

// CloseInput ends the command's standard input.
func (c *Command) CloseInput() error { return c.frames.write(frameInputEnd, nil) }

// Read reads the command's standard output as it comes. A command whose output
// is not read waits; see Discard.
func (c *Command) Read(p []byte) (int, error) { return c.output.Read(p) }

// Discard lets the command run on without a reader of its output.
func (c *Command) Discard() { c.output.Close() }

// Output is what the command has printed so far, on both outputs.
func (c *Command) Output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Wait waits for the end of the command. Another status than zero is an
// *ExitError. Output that nobody has read is thrown away.
func (c *Command) Wait() error {
	c.Discard()
	<-c.ended
	return c.err
}

// Kill ends the command.
func (c *Command) Kill() {
	c.conn.Close()
	c.Discard()
	<-c.ended
}

// Run runs a command to its end and returns what it printed.
func Run(ctx context.Context, address string, args ...string) (string, error) {
	c, err := Start(ctx, address, args...)
	if err != nil {
		return "", err
	}
	err = c.Wait()
	return c.Output(), err
}
