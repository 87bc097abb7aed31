package braid

import (
	"context"
	"testing"
	"time"
)

// A peer that has died, and does not answer the farewell, keeps nobody from the other channels meanwhile.
func TestDeadPeerKeepsNobodyWaiting(t *testing.T) {
	client := open(t, Config{Keepalive: 50 * time.Millisecond, Patience: 100 * time.Millisecond, Linger: -1, Mock: MockOff})
	dying := open(t, Config{Linger: -1, Mock: MockOff})
	dead, _ := dialled(t, client, listen(t, dying))
	living, peer := dialled(t, client, listen(t, open(t, Config{Linger: -1, Mock: MockOff})))
	servedBy(context.Background(), t, peer, func(context.Context, *Msg) ([]byte, error) { return nil, nil })
	ctx, stop := context.WithCancel(t.Context())
	leads := make(chan struct{})
	go func() {
		defer close(leads)
		_, _ = living.Receive(ctx) // nothing comes
	}()
	defer func() { stop(); <-leads }()
	eventually(t, "somebody leads", func() bool { return client.attendance.asleep.Load() })
	dying.device.Close()
	<-dead.Done()
	for range 200 {
		m, err := living.Call(soon(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
	}
	select {
	case <-dead.gone:
		t.Error("the calls took as long as the farewell")
	default:
	}
}
