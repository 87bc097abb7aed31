package braid

import "testing"

// Channels that have ended while they waited for Accept leave their places in its queue to others, as among the channels: the peers of
// these were told that they are connected.
func TestEndedMakeRoomForAccept(t *testing.T) {
	server, client := open(t, Config{Channels: 2}), open(t, Config{})
	l := listen(t, server)
	var waiting []*Channel
	for range 2 {
		a, b := dialled(t, client, l)
		a.Close()
		<-b.gone
		waiting = append(waiting, b)
	}
	a, b := dialled(t, client, l)
	for _, ch := range append(waiting, b) {
		server.exclusive(func() { l.offer(ch) }) // as if nobody had accepted it
	}
	got, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if got != b || b.Err() != nil {
		t.Fatalf("Accept returns another channel than the one that lives, which has ended: %v", b.Err())
	}
	if err := b.Send(soon(t), []byte("hello")); err != nil {
		t.Fatal(err)
	}
	m, err := a.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
}
