package pingpong

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// ackTimeout, 134 ms, makes the retries last for a second, which a busy machine
// does not take for one message.
const ackTimeout = 134 * time.Millisecond

// lastAckGame is a game between two ends of ours. Its messages are empty, because
// ours, unlike the programs, do not send what they received.
var lastAckGame = Config{Program: RC, MTU: 1024, Iterations: 5, AckTimeout: ackTimeout}

// TestLastAcknowledgementIsLost loses each acknowledgement of the last message of
// one end, and lets the other leave when it is content, as the programs do.
func TestLastAcknowledgementIsLost(t *testing.T) {
	t.Run("of the client", func(t *testing.T) {
		t.Parallel()
		client, server := playWithoutLastAck(t, true)
		if client != nil || server != nil {
			t.Errorf("client: %v; server: %v; want none: each message had its reply", client, server)
		}
	})
	t.Run("of the server", func(t *testing.T) {
		t.Parallel()
		client, server := playWithoutLastAck(t, false)
		if client != nil || !errors.Is(server, ErrUnacknowledged) {
			t.Errorf("client: %v; server: %v; want ErrUnacknowledged", client, server)
		}
	})
}

// A message that is lost before the last one is a failure of the game.
func TestPeerThatLeavesEarly(t *testing.T) {
	t.Parallel()
	network := loopnet.New(loopnet.Options{})
	client, server := newLastAckPeer(t, network), newLastAckPeer(t, network)
	third := client.qps[0].Params().PSN.Add(2)
	network.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.BTH.PSN != third })
	clientErr, _ := playBoth(t, client, server)
	if !errors.Is(clientErr, verbs.ErrRetryExceeded) {
		t.Errorf("%v; want ErrRetryExceeded", clientErr)
	}
}

// playWithoutLastAck returns how the game ended for both ends.
func playWithoutLastAck(t *testing.T, ofClient bool) (clientErr, serverErr error) {
	t.Helper()
	network := loopnet.New(loopnet.Options{})
	client, server := newLastAckPeer(t, network), newLastAckPeer(t, network)
	victim := server
	if ofClient {
		victim = client
	}
	params := victim.qps[0].Params()
	last := params.PSN.Add(lastAckGame.Iterations - 1)
	network.SetFilter(func(_, to netip.Addr, p *transport.Packet) bool {
		return to != params.Addr || p.BTH.Opcode != wire.Acknowledge || p.BTH.PSN != last
	})
	return playBoth(t, client, server)
}

func newLastAckPeer(t *testing.T, network *loopnet.Network) *Peer {
	t.Helper()
	d := network.Open()
	t.Cleanup(func() { d.Close() })
	p, err := NewPeer(d, lastAckGame)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// playBoth closes each end as soon as its game is over.
func playBoth(t *testing.T, client, server *Peer) (clientErr, serverErr error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		err := server.Serve(ctx, listener)
		server.Close()
		served <- err
	}()
	clientErr = client.Dial(ctx, listener.Addr().String())
	client.Close()
	if clientErr != nil {
		cancel()
	}
	return clientErr, <-served
}
