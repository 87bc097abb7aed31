package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Port is the TCP port that the agent listens on.
const Port = 7

// frameKind says what a frame carries.
type frameKind byte

const (
	frameRequest  frameKind = iota // JSON of a request
	frameInput                     // standard input
	frameInputEnd                  // nothing more of it
	frameOutput                    // standard output
	frameErrors                    // standard error
	frameExit                      // JSON of an outcome
)

// maxFrame bounds the memory that a frame takes.
const maxFrame = 1 << 20

// frameHeader is the length of kind and payload length.
const frameHeader = 5

// ErrFrame is a frame that breaks the protocol.
var ErrFrame = errors.New("agent: invalid frame")

// readFrame reads one frame. The end of the stream between frames is io.EOF.
func readFrame(r io.Reader) (frameKind, []byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	kind, length := frameKind(header[0]), binary.BigEndian.Uint32(header[1:])
	if kind > frameExit || length > maxFrame {
		return 0, nil, fmt.Errorf("%w: kind %d, %d bytes", ErrFrame, kind, length)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrFrame, io.ErrUnexpectedEOF)
	}
	return kind, payload, nil
}

// frameWriter writes frames, each whole, from several goroutines.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frameWriter) write(kind frameKind, payload []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		part := payload[:min(len(payload), maxFrame)]
		frame := make([]byte, frameHeader, frameHeader+len(part))
		frame[0] = byte(kind)
		binary.BigEndian.PutUint32(frame[1:], uint32(len(part)))
		if _, err := f.w.Write(append(frame, part...)); err != nil {
			return err
		}
		if payload = payload[len(part):]; len(payload) == 0 {
			return nil
		}
	}
}

// stream is the writing end of one kind of frames.
type stream struct {
	frames *frameWriter
	kind   frameKind
}

func (s stream) Write(p []byte) (int, error) {
	if err := s.frames.write(s.kind, p); err != nil {
		return 0, err
	}
	return len(p), nil
}
