//go:build ibverbs && linux && cgo

package ibverbs

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

var withPeer = flag.Bool("peer", false, "be the peer of interop/rxe, which reads and writes this process's standard streams")

// greeting is what two ends tell each other before they connect.
type greeting struct {
	Params verbs.ConnParams
	Addr   uint64
	RKey   verbs.RKey
}

// peerBytes is how much each end writes into the other's memory.
const peerBytes = 100_000

// A device of this engine and one of another: interop/rxe has the other end, on udp.
func TestPeerOfAnotherEngine(t *testing.T) {
	if !*withPeer {
		t.Skip("the other end is missing: go test ./interop/rxe runs this test")
	}
	a := newEnd(t, openDevice(t, 0, Config{}), verbs.QPOptions{Conn: verbs.ConnOptions{MTU: 1024, AckTimeout: time.Second}})
	must(t, a.qp.Prepare())
	a.recv(1, 64)
	must(t, json.NewEncoder(os.Stdout).Encode(greeting{a.qp.Params(), a.mr.Addr(), a.mr.RKey()}))
	var peer greeting
	must(t, json.NewDecoder(os.Stdin).Decode(&peer))
	must(t, a.qp.Connect(peer.Params))

	// The peer says when it is connected too.
	a.want(1, verbs.OpRecv, nil)
	a.fill(peerBytes, 1)
	at := verbs.SendWR{RemoteAddr: peer.Addr, RKey: peer.RKey}
	at.Op = verbs.OpWrite
	a.post(nil, at, peerBytes)
	a.want(0, verbs.OpWrite, nil)
	clear(a.mr.Bytes())
	at.Op = verbs.OpRead
	a.post(nil, at, peerBytes)
	a.want(0, verbs.OpRead, nil)
	a.wantBytes("READ of what was written", pattern(peerBytes, 1))

	// The peer writes, counts and says so; then it is told that all was well.
	must(t, a.mr.StoreUint64(memorySize-8, 41))
	a.recv(2, 64)
	at.Op = verbs.OpSend
	a.post(nil, at, 8)
	a.want(0, verbs.OpSend, nil)
	a.want(2, verbs.OpRecv, nil)
	a.wantBytes("WRITE of the peer", pattern(peerBytes, 2))
	if count, err := a.mr.LoadUint64(memorySize - 8); err != nil || count != 42 {
		t.Errorf("after FETCH_ADD of the peer: %d, %v", count, err)
	}
	at.Op, at.RKey = verbs.OpWrite, peer.RKey^0x3300
	a.post(nil, at, 8)
	a.want(0, verbs.OpWrite, verbs.ErrRemoteAccess)
}
