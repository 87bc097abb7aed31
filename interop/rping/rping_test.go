package rping

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
)

// newEnd is an end with a manager on a network in memory.
func newEnd(t *testing.T, network *loopnet.Network) (*End, *cm.Manager) {
	t.Helper()
	d := network.Open()
	t.Cleanup(func() { d.Close() })
	m, err := cm.New(d, cm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	e, err := NewEnd(d)
	if err != nil {
		t.Fatal(err)
	}
	return e, m
}

func TestBothRoles(t *testing.T) {
	network := loopnet.New(loopnet.Options{Paths: 1})
	server, serverManager := newEnd(t, network)
	client, clientManager := newEnd(t, network)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	listener, err := serverManager.Listen(Port)
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		pings int
		err   error
	}
	served := make(chan outcome, 1)
	go func() {
		conn, err := listener.Accept(ctx, server.Options())
		if err != nil {
			served <- outcome{err: err}
			return
		}
		pings, err := server.Serve(ctx, conn)
		served <- outcome{pings, err}
	}()
	conn, err := clientManager.Dial(ctx, listener.Addr().String(), client.Options())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 64, 5000, MaxSize} {
		if err := client.Ping(ctx, 5, size); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
	conn.Close()
	if got := <-served; got.err != nil || got.pings != 20 {
		t.Errorf("the server replied to %d pings: %v", got.pings, got.err)
	}
}

func TestInvitation(t *testing.T) {
	want := invitation{addr: 0x0102030405060708, rkey: 0x090a0b0c, size: 64}
	text := want.append(nil)
	if string(text) != "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x00\x00\x00\x40" {
		t.Errorf("%x", text)
	}
	if got, err := parseInvitation(text); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []invitation{{size: 0}, {size: MaxSize + 1}} {
		if _, err := parseInvitation(bad.append(nil)); !errors.Is(err, ErrMessage) {
			t.Errorf("%+v: error %v", bad, err)
		}
	}
}
