package braid

import (
	"testing"
	"time"
)

// The difference between the clocks of two contexts is found, within the bound.
func TestClockOffset(t *testing.T) {
	for _, ahead := range []time.Duration{0, 3 * time.Hour, -7 * time.Second} {
		server, client := open(t, Config{}), open(t, Config{})
		server.tracer.epoch = client.tracer.epoch + ahead
		l := listen(t, server)
		a, err := client.Dial(soon(t), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Accept(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := a.Clock(); ok {
			t.Error("the offset is known before a call")
		}
		serveOn(t, b, echo)
		for range 20 {
			m, tr, err := a.TraceCall(soon(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
			wantPhases(t, tr, callPhases)
			if wrong := (tr.Clock.Offset - ahead).Abs(); wrong > tr.Clock.Bound {
				t.Errorf("%v ahead: the trace has %v ± %v", ahead, tr.Clock.Offset, tr.Clock.Bound)
			}
			if tr.Clock.Bound > 1+(tr.Took(PhaseWire)+tr.Took(PhaseWireBack)+1)/2 {
				t.Errorf("a bound of %v, but the way took %v there and back", tr.Clock.Bound, tr.Took(PhaseWire)+tr.Took(PhaseWireBack))
			}
		}
		clock, ok := a.Clock()
		t.Logf("%v ahead: %v ± %v", ahead, clock.Offset, clock.Bound)
		if !ok || (clock.Offset-ahead).Abs() > clock.Bound {
			t.Errorf("%v ahead: %v ± %v", ahead, clock.Offset, clock.Bound)
		}
		server.Close()
		client.Close()
	}
}

// A way that takes longer there than back makes the offset less certain, and the bound says so.
func TestClockAsymmetricDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	a, b, _ := tracedPair(t, Config{}, Config{})
	ahead := b.context.tracer.epoch - a.context.tracer.epoch // the clocks are nearly equal
	serveOn(t, b, echo)
	held, release := make(chan struct{}), make(chan struct{})
	go b.context.exclusive(func() { // nobody takes what arrives
		close(held)
		<-release
	})
	<-held
	go func() {
		for n := 0; n == 0; {
			a.context.exclusive(func() { n = a.session.Unacknowledged() })
		}
		time.Sleep(delay)
		close(release)
	}()
	m, tr, err := a.TraceCall(soon(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	t.Logf("\n%v", tr)
	if tr.Clock.Bound < delay/2 || (tr.Clock.Offset-ahead).Abs() > tr.Clock.Bound {
		t.Errorf("%v ahead, and the way there took %v longer: %v ± %v", ahead, delay, tr.Clock.Offset, tr.Clock.Bound)
	}
	for range 10 { // quick ones put it right
		m, tr, err = a.TraceCall(soon(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	if tr.Clock.Bound > delay/4 || (tr.Clock.Offset-ahead).Abs() > tr.Clock.Bound {
		t.Errorf("after quick calls: %v ± %v", tr.Clock.Offset, tr.Clock.Bound)
	}
}
