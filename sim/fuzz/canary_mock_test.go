package fuzz

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim/internal/hook"
	"github.com/braid-rdma/braid/verbs"
)

// uninformed is a watcher that is not told of silence, or of probes.
type uninformed struct {
	verbs.NetworkWatcher
	silence, probes bool
}

func (w uninformed) Silent() {
	if !w.silence {
		w.NetworkWatcher.Silent()
	}
}

func (w uninformed) Probed(number uint32) {
	if !w.probes {
		w.NetworkWatcher.Probed(number)
	}
}

// leakyWay loses all packets.
type leakyWay struct{ verbs.Way }

func (leakyWay) Carry([]byte) {}

// immortal is a stream that Close does not close.
type immortal struct{ halfCloser }

type halfCloser interface {
	net.Conn
	CloseWrite() error
	SetUserTimeout(d time.Duration)
}

func (immortal) Close() error { return nil }

// mockCanaries are bugs of Mock, planted in each world.
var mockCanaries = []struct {
	name  string
	plant sabotage
	want  string // in the message
}{
	{"nobody is told of silence", layers(hook.Detours{
		Watcher: func(w verbs.NetworkWatcher) verbs.NetworkWatcher { return uninformed{w, true, false} },
	}), "the channel has failed"},
	{"nobody is told of probes", layers(hook.Detours{
		Watcher: func(w verbs.NetworkWatcher) verbs.NetworkWatcher { return uninformed{w, false, true} },
	}), "not back on UDP"},
	{"TCP carries no packet", layers(hook.Detours{
		Way: func(w verbs.Way) verbs.Way { return leakyWay{w} },
	}), "the channel has failed"},
	{"connections stay open", layers(hook.Detours{
		Stream: func(c net.Conn) net.Conn { return immortal{c.(halfCloser)} },
	}), "streams are left"},
	{"a move repeats a message", onMove(func(e *channelEnd) {
		if n := len(e.sent); n > 0 && e.sent[n-1].received > 0 {
			_ = e.ch.Send(context.Background(), e.sent[n-1].payload)
		}
	}), "a message of"},
	{"a move loses a message", onMove(func(e *channelEnd) { _, _ = e.ch.Receive(context.Background()) }), "a message of"},
	{"a command is forgotten", onMove(func(e *channelEnd) {
		if e.wanted == braid.CarrierTCP {
			_ = e.ch.SetCarrier(context.Background(), braid.CarrierAuto)
		}
	}), "not on TCP"},
}

func layers(l hook.Detours) sabotage {
	return func(w *world) { hook.DecorateDetours(w.net, l) }
}

// onMove lets an end do something whenever its packets have moved.
func onMove(f func(*channelEnd)) sabotage {
	return func(w *world) {
		for _, n := range w.nodes {
			n.context.OnMove(func(m braid.Move) {
				for _, e := range n.ends {
					if e.ch == m.Channel {
						_ = w.net.Go(n.host, func() { f(e) })
					}
				}
			})
		}
	}
}

// TestMockCanaries shows that bugs of Mock are found, and that scenarios with Mock become small ones.
func TestMockCanaries(t *testing.T) {
	onlyWithoutDetector(t)
	for _, c := range mockCanaries {
		t.Run(c.name, func(t *testing.T) {
			for seed := uint64(1); seed <= 100; seed++ {
				_, f := runDrawn(t, seed, 1, c.plant)
				if f == nil || !strings.Contains(f.Message, c.want) {
					continue
				}
				t.Logf("seed %d: %.300s", seed, f.Message)
				small := Shrink(f)
				before, _ := f.Size()
				if after, _ := small.Size(); after > max(3, before/2) {
					t.Errorf("of %d operations %d are left:\n%s", before, after, small.Scenario())
				}
				return
			}
			t.Error("no seed finds it")
		})
	}
}
