package qlog

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/braid-rdma/braid/transport"
)

// Schema names the version of the format.
const Schema = "braid-trace/1"

const (
	// bufferSize is that of each of the two buffers: a disk may pause for as long
	// as it takes to fill one, some ten thousand events.
	bufferSize = 1 << 20
	// flushInterval is how old an event may get before it is written, so that
	// the file can be followed while it grows.
	flushInterval = 200 * time.Millisecond
	// maxName bounds the name of a device.
	maxName = 256
)

// Options say what is written and how.
type Options struct {
	Title string // what was traced, such as the command line
	// Lossless lets events wait for the file. It is for simulations, whose
	// packets do not notice; a real engine must not wait.
	Lossless bool
}

// header is the first line of a file.
type header struct {
	Schema   string `json:"schema"`
	Title    string `json:"title"`
	TimeUnit string `json:"time_unit"`
}

// Writer writes the events of any number of queue pairs. Its methods may be
// called from several threads.
type Writer struct {
	out      io.WriteCloser
	lossless bool

	mu      sync.Mutex
	emptied sync.Cond // filling has been handed over, or all is over
	filling []byte    // what events are encoded into
	spare   []byte    // the other buffer; nil while it is written
	dropped uint64
	untold  uint64 // events dropped that no line tells of
	closing bool
	err     error // of the file; nothing more is written then

	wake chan struct{}
	done chan struct{}
}

// Create makes a file, or empties it, and writes the header.
func Create(path string, o Options) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return New(f, o), nil
}

// New writes to out, which the writer owns from now on.
func New(out io.WriteCloser, o Options) *Writer { return newWriter(out, o, bufferSize) }

func newWriter(out io.WriteCloser, o Options, size int) *Writer {
	w := &Writer{
		out: out, lossless: o.Lossless,
		filling: make([]byte, 0, size), spare: make([]byte, 0, size),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	w.emptied.L = &w.mu
	first, err := json.Marshal(header{Schema: Schema, Title: o.Title, TimeUnit: "ns"})
	if err != nil {
		panic(err) // strings always have a form in JSON
	}
	w.filling = append(append(w.filling, first...), '\n')
	go w.write()
	return w
}

// Device is the tracer of a device's queue pairs. The name is part of each
// event, since two devices may have queue pairs of the same number.
func (w *Writer) Device(name string) transport.Tracer {
	quoted, err := json.Marshal(name)
	if err != nil || len(quoted)-2 > maxName {
		panic(fmt.Sprintf("qlog: a device called %q", name))
	}
	return &device{w, string(quoted[1 : len(quoted)-1])}
}

type device struct {
	writer *Writer
	name   string
}

// Trace implements transport.Tracer.
func (d *device) Trace(now transport.Time, e transport.TraceEvent) { d.writer.add(now, d.name, &e) }

// add encodes an event. It does not wait for the file unless the writer is
// lossless.
func (w *Writer) add(now transport.Time, name string, e *transport.TraceEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.lossless && !w.room() && w.err == nil && !w.closing {
		w.emptied.Wait()
	}
	if !w.room() || w.err != nil || w.closing {
		w.dropped++
		w.untold++
		return
	}
	if w.untold > 0 {
		w.filling = fmt.Appendf(w.filling, `{"time":%d,"name":"events_dropped","count":%d}`+"\n", now, w.untold)
		w.untold = 0
	}
	w.filling = appendEvent(w.filling, now, name, e)
	if len(w.filling) > cap(w.filling)/2 {
		w.signal()
	}
}

// room says whether two more lines fit.
func (w *Writer) room() bool { return len(w.filling)+2*maxLine <= cap(w.filling) }

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// write is the goroutine that brings the events into the file.
func (w *Writer) write() {
	defer close(w.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-w.wake:
		case <-tick.C:
		}
		if w.flush() {
			return
		}
	}
}

// flush writes what there is, and says whether it was the last.
func (w *Writer) flush() (last bool) {
	w.mu.Lock()
	full, last, failed := w.filling, w.closing, w.err != nil
	w.filling, w.spare = w.spare, nil
	w.emptied.Broadcast()
	w.mu.Unlock()
	var err error
	if !failed && len(full) > 0 {
		_, err = w.out.Write(full)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spare = full[:0]
	if err != nil {
		w.err = err
		w.emptied.Broadcast()
	}
	return last
}

// Dropped is how many events are not in the file.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Close writes what is left. Its error is the first that the file had; events
// that come later are dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closing = true
	w.emptied.Broadcast()
	w.mu.Unlock()
	w.signal()
	<-w.done
	if err := w.out.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}
