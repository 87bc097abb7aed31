package braid

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// A configuration that changes while a channel is being connected: both ends have what takes effect at once, and the peer may send
// messages as long as it was told before.
func TestUpdateWhileConnecting(t *testing.T) {
	const keepalive = 3 * time.Second
	server, client := open(t, Config{}), open(t, Config{MaxMessage: 1 << 20})
	l := listen(t, server)
	a, options, err := client.add()
	if err != nil {
		t.Fatal(err)
	}
	a.dialled = true
	options.Prepare = func(qp *verbs.QP) error { // the peer has granted the channel, and waits for the last word
		for _, c := range []*Context{server, client} {
			err := c.Update(func(cfg *Config) { cfg.MaxMessage, cfg.Keepalive = 8192, keepalive })
			if err != nil {
				t.Error(err)
			}
		}
		return a.prepare(qp)
	}
	conn, err := client.manager.Dial(soon(t), l.Addr().String(), options)
	if err == nil {
		err = a.establish(conn, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range []*Channel{a, b} {
		if got := time.Duration(ch.qp.Query().Attr.Keepalive); got != keepalive {
			t.Errorf("a channel keeps alive after %v, want %v", got, keepalive)
		}
	}
	received := make(chan error, 1)
	go func() {
		m, err := a.Receive(soon(t))
		if err == nil {
			m.Release()
		}
		received <- err
	}()
	if err := b.Send(soon(t), make([]byte, b.MaxMessage())); err != nil {
		t.Errorf("a message as long as the peer said that it takes: %v", err)
	}
	if err := <-received; err != nil {
		t.Error(err)
	}
}
