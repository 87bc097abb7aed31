package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// replayCommand is how a failing seed is run again with its transcript.
func replayCommand(seed uint64) string {
	return fmt.Sprintf("BRAID_SEED=%d go test ./transport -run 'TestSeed$' -v", seed)
}

// runSeed runs the scenario of a seed.
func runSeed(seed uint64) error { return newWorld(randomScenario(seed)).run() }

// runTraced runs a scenario and returns its transcript too.
func runTraced(sc *scenario) (string, error) {
	var b strings.Builder
	w := newWorld(sc)
	w.trace = &b
	err := w.run()
	return b.String(), err
}

// mustRun runs a scripted scenario.
func mustRun(t *testing.T, sc *scenario, prepare func(w *world)) *world {
	t.Helper()
	w := newWorld(sc)
	if prepare != nil {
		prepare(w)
	}
	if err := w.run(); err != nil {
		t.Fatalf("%v: %v", sc, err)
	}
	return w
}

// describePacket is a line of a transcript.
func describePacket(p *Packet) string {
	s := fmt.Sprintf("path %d %v psn %d len %d", p.Path, p.Opcode, p.PSN, p.Length)
	switch {
	case isMPAck(p):
		s += fmt.Sprintf(" %v sack %d aack %d", p.AETH.Syndrome, p.Ack.SACK, p.Ack.AACK)
	case p.Opcode == wire.MPAcknowledgeBatch:
		s += fmt.Sprintf(" base %d %b aack %d", p.Batch.Base, p.Batch.Received, p.Batch.AACK)
	case p.Opcode.IsMP():
		s += fmt.Sprintf(" msn %d offset %d again %v sync %v", p.MP.MSN, p.MP.Offset, p.MP.ReTx, p.MP.Sync)
	default:
		s += fmt.Sprintf(" %v", p.AETH.Syndrome)
	}
	return s
}
