package braid

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Goroutines at both ends of several channels send, call, read and write, give up at any moment
// and close: each call gets its own response, one-way messages come in order and once,
// no memory is lost and nothing hangs.
func TestChaos(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	cfg := Config{Window: 16, Memory: 4 << 20, Trace: TraceMode(seed % 3), TraceMask: int(seed >> 2 % 4), PollingWarn: time.Millisecond}
	server, client := open(t, cfg), open(t, cfg)
	l := listen(t, server)
	var all sync.WaitGroup
	for n := range 6 {
		a, err := client.Dial(soon(t), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Accept(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		p := &party{t: t, channel: a, r: rand.New(rand.NewPCG(seed, uint64(2*n)))}
		q := &party{t: t, channel: b, r: rand.New(rand.NewPCG(seed, uint64(2*n+1)))}
		p.over, p.quit = context.WithCancel(t.Context())
		q.over, q.quit = context.WithCancel(t.Context())
		p.peer, q.peer = q, p
		all.Go(p.live)
		all.Go(q.live)
	}
	all.Wait()
	for _, c := range []*Context{server, client} {
		if s := c.Stats(); s.Channels != 0 || s.PendingBytes != 0 {
			t.Errorf("left behind: %+v", s)
		}
		if held := heldBlocks(c); held != 0 {
			t.Errorf("%d blocks of memory are not free", held)
		}
		if s := c.Stats(); s.UnusedBytes != s.BufferBytes {
			t.Errorf("left behind: %+v", s)
		}
		if n := c.device.Query().MRs; n > 20 {
			t.Errorf("%d regions are registered", n)
		}
	}
}

// longest is what a call may take on a busy machine.
const longest = 40 * time.Second

// party is the program at one end of a channel.
type party struct {
	t       *testing.T
	channel *Channel
	mu      sync.Mutex
	r       *rand.Rand
	ordinal uint64 // of one-way messages
	sending sync.Mutex
	peer    *party
	over    context.Context // ends when nothing more is sent
	quit    context.CancelFunc
}

func (p *party) draw(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.r.IntN(n)
}

// message has a number in its first bytes, and the rest follows from it.
func message(number uint64, length int) []byte {
	b := make([]byte, max(8, length))
	binary.BigEndian.PutUint64(b, number)
	for i := 8; i < len(b); i++ {
		b[i] = byte(number) + byte(i)
	}
	return b
}

func (p *party) length() int {
	switch p.draw(8) {
	case 0:
		return p.draw(1 << 20)
	case 1:
		return 4090 + p.draw(20)
	default:
		return p.draw(200)
	}
}

// within is a context that may end at any moment, or late.
func (p *party) within() (context.Context, context.CancelFunc) {
	if p.draw(5) == 0 {
		return context.WithTimeout(p.t.Context(), time.Duration(p.draw(3000))*time.Microsecond)
	}
	return context.WithTimeout(p.t.Context(), longest)
}

func (p *party) live() {
	var workers, receiver sync.WaitGroup
	receiver.Go(p.receive)
	for range 3 {
		workers.Go(func() {
			for range 150 {
				if p.channel.Err() != nil {
					return
				}
				if p.draw(2) == 0 {
					p.send()
				} else {
					p.call()
				}
			}
		})
	}
	if p.draw(3) == 0 {
		time.Sleep(time.Duration(p.draw(20)) * time.Millisecond)
		p.channel.end(errors.New("enough"))
	}
	workers.Wait()
	p.quit()
	receiver.Wait()
	p.channel.Close()
}

func (p *party) send() {
	p.sending.Lock()
	defer p.sending.Unlock()
	ctx, cancel := p.within()
	defer cancel()
	p.ordinal++
	_ = p.channel.Send(ctx, message(p.ordinal, p.length())) // it may have been given up
}

func (p *party) call() {
	ctx, cancel := p.within()
	defer cancel()
	want := message(uint64(p.draw(1<<30)), p.length())
	begin := time.Now()
	m, err := p.channel.Call(ctx, want)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && time.Since(begin) > longest/2 {
			p.t.Errorf("a call of %d bytes has no response", len(want))
			p.describe()
			p.peer.describe()
		}
		return
	}
	if !bytes.Equal(m.Bytes(), want) {
		p.t.Errorf("a call of %d bytes gets %d others", len(want), m.Len())
	}
	m.Release()
}

// receive takes messages until nothing comes any more; it echoes calls.
func (p *party) receive() {
	last := uint64(0)
	for {
		m, err := p.channel.Receive(p.peer.over)
		if err != nil {
			if p.channel.Err() == nil && !errors.Is(err, context.Canceled) {
				p.t.Error(err)
			}
			break
		}
		number := binary.BigEndian.Uint64(m.Bytes())
		if !bytes.Equal(m.Bytes(), message(number, m.Len())) {
			p.t.Errorf("message %d of %d bytes is damaged", number, m.Len())
		}
		if !m.IsCall() {
			if number <= last {
				p.t.Errorf("message %d comes after %d", number, last)
			}
			last = number
			m.Release()
			continue
		}
		ctx, cancel := p.within()
		if err := m.Reply(ctx, m.Bytes()); err != nil { // the caller waits
			_ = m.Fail(p.t.Context(), err)
		}
		cancel()
		m.Release()
	}
	for m := p.channel.TryReceive(); m != nil; m = p.channel.TryReceive() {
		m.Release()
	}
}

// describe says where a channel stands that hangs.
func (p *party) describe() {
	ch := p.channel
	ch.context.exclusive(func() {
		p.t.Logf("channel %d: %s; %d reads, %d messages in part, %d parked, %d at handlers, %d to be received, %d sends; %+v; %v",
			ch.number, ch.session.Describe(), ch.reads, ch.partial.Len(), ch.parked.Len(), ch.handlers, len(ch.incoming),
			ch.sends.posted, ch.context.bulk, ch.Err())
	})
}
