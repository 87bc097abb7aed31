package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"time"
)

// request is a command to run.
type request struct {
	Args []string `json:"args"`
}

// outcome is how a command ended.
type outcome struct {
	Status int    `json:"status"` // the exit status, or -1
	Error  string `json:"error"`  // why there is no status
}

// drainTime is how long the output of a command is read after it has ended: a
// process that it left behind may hold its standard output open for ever.
const drainTime = 500 * time.Millisecond

// Serve runs the commands of each connection until the listener is closed.
func Serve(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("agent: %w", err)
		}
		go serve(conn)
	}
}

// serve runs the one command of a connection.
func serve(conn net.Conn) {
	defer conn.Close()
	frames := &frameWriter{w: conn}
	end := runRequested(conn, frames)
	text, err := json.Marshal(end)
	if err != nil {
		return
	}
	// A peer that has gone does not need the outcome.
	_ = frames.write(frameExit, text)
}

func runRequested(conn net.Conn, frames *frameWriter) outcome {
	kind, payload, err := readFrame(conn)
	if err != nil {
		return outcome{Status: -1, Error: err.Error()}
	}
	var r request
	if kind != frameRequest || json.Unmarshal(payload, &r) != nil || len(r.Args) == 0 {
		return outcome{Status: -1, Error: "the first frame is no request"}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, r.Args[0], r.Args[1:]...)
	cmd.Stdout, cmd.Stderr = stream{frames, frameOutput}, stream{frames, frameErrors}
	cmd.WaitDelay = drainTime
	endWithGroup(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		return outcome{Status: -1, Error: err.Error()}
	}
	if err := cmd.Start(); err != nil {
		return outcome{Status: -1, Error: err.Error()}
	}
	go feed(conn, input, cancel)
	return outcomeOf(cmd, cmd.Wait())
}

// feed hands the peer's frames to the command, and ends the command when the
// peer is gone.
func feed(conn net.Conn, input io.WriteCloser, gone context.CancelFunc) {
	defer input.Close()
	for {
		kind, payload, err := readFrame(conn)
		switch {
		case err != nil:
			gone()
			return
		case kind == frameInputEnd:
			input.Close()
		case kind == frameInput:
			// A command that reads no more input has its own reason.
			_, _ = input.Write(payload)
		}
	}
}

func outcomeOf(cmd *exec.Cmd, err error) outcome {
	if cmd.ProcessState == nil {
		return outcome{Status: -1, Error: err.Error()}
	}
	end := outcome{Status: cmd.ProcessState.ExitCode()}
	if end.Status < 0 {
		end.Error = cmd.ProcessState.String()
	}
	return end
}
