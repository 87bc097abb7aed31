package braid

import (
	"bytes"
	"context"
	"testing"
)

// A context in the background does everything that another does, and nobody who waits for it
// runs the device.
func TestBackground(t *testing.T) {
	cfg := Config{Background: true}
	ch := serve(t, cfg, echo)
	for _, n := range []int{0, 64, 4097, 1 << 20} {
		want := payload(n)
		m, err := ch.Call(soon(t), want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Bytes(), want) {
			t.Errorf("%d bytes come back as %d others", n, m.Len())
		}
		m.Release()
	}
	a, b := pair(t, cfg)
	received := make(chan error, 1)
	go func() {
		m, err := b.Receive(soon(t))
		if err == nil {
			m.Release()
		}
		received <- err
	}()
	if err := a.Send(soon(t), payload(100)); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(soon(t)); err != nil {
		t.Error(err)
	}
	if err := <-received; err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Receive(ended); err == nil {
		t.Error("a message that nobody sent")
	}
	if a.context.attendance.leftAt.Load() != 0 || b.context.attendance.leftAt.Load() != 0 {
		t.Error("somebody has led a context in the background")
	}
}
