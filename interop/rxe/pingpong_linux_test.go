package rxe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/interop/pingpong"
	"github.com/braid-rdma/braid/verbs"
)

// ipv4GID is the index of the machine's IPv4 address among its GIDs.
const ipv4GID = "1"

// longTimeout is patient with a machine that has to share its processor.
const longTimeout = time.Second

// playTime is what anything may take in the slow machine, on processors that may have much else to do.
const playTime = 2 * time.Minute

func TestPingpong(t *testing.T) {
	for _, c := range []pingpong.Config{
		{Program: pingpong.RC, Size: 1, MTU: 256, Iterations: 100},
		{Program: pingpong.RC, Size: 256, MTU: 256, Iterations: 100},
		{Program: pingpong.RC, Size: 4096, MTU: 1024, Iterations: 500},
		{Program: pingpong.RC, Size: 65536, MTU: 4096, Iterations: 30},
		{Program: pingpong.RC, Size: 1000003, MTU: 2048, Iterations: 4},
		{Program: pingpong.UD, Size: 1, MTU: 4096, Iterations: 200},
		{Program: pingpong.UD, Size: 2048, MTU: 4096, Iterations: 200},
		{Program: pingpong.SRQ, Size: 4096, MTU: 1024, Iterations: 300, QPs: 16},
		{Program: pingpong.SRQ, Size: 30000, MTU: 4096, Iterations: 60, QPs: 3},
	} {
		for _, client := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%d bytes/MTU %d/braid is client: %v", c.Program, c.Size, c.MTU, client), func(t *testing.T) {
				c.AckTimeout = longTimeout
				playPingpong(t, openDevice(t), c, client)
			})
		}
	}
}

// playPingpong runs a program in the machine against braid, and returns
// braid's counters.
func playPingpong(t *testing.T, d *verbs.Device, c pingpong.Config, client bool) []verbs.Stats {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	peer, err := pingpong.NewPeer(d, c)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	args := []string{string(c.Program), "-d", "rxe0", "-g", ipv4GID, "-s", strconv.Itoa(c.Size), "-n", strconv.Itoa(c.Iterations)}
	if c.Program != pingpong.UD {
		args = append(args, "-m", strconv.Itoa(c.MTU))
	}
	if c.Program == pingpong.SRQ {
		args = append(args, "-q", strconv.Itoa(c.QPs))
	}
	if client {
		program, err := guest(t).Start(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer program.Kill()
		program.Discard()
		awaitListener(ctx, t, pingpong.Port)
		if err := peer.Dial(ctx, net.JoinHostPort(guestAddr.String(), strconv.Itoa(pingpong.Port))); err != nil {
			t.Fatalf("braid: %v\n%s", err, program.Output())
		}
		if err := program.Wait(); err != nil {
			t.Fatal(err)
		}
		return peer.Stats()
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(hostAddr.String(), strconv.Itoa(pingpong.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	played := make(chan error, 1)
	go func() { played <- peer.Serve(ctx, listener) }()
	_, err = guest(t).Run(ctx, append(args, hostAddr.String())...)
	if err != nil {
		cancel()
	}
	braidErr := <-played
	if err == nil && errors.Is(braidErr, pingpong.ErrUnacknowledged) {
		braidErr = nil // the program has ended with success, so it has all messages
	}
	if err := errors.Join(err, braidErr); err != nil {
		t.Fatal(err)
	}
	return peer.Stats()
}

// awaitListener waits until a program in the machine listens. The programs
// take one connection, so trying one would use it up.
func awaitListener(ctx context.Context, t *testing.T, port int) {
	t.Helper()
	for {
		output, err := guest(t).Run(ctx, "busybox", "netstat", "-ltn")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(output, ":"+strconv.Itoa(port)+" ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
