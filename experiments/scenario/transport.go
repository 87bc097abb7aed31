package scenario

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/verbs"
)

// Transport is how flows are carried: by what queue pairs and how many. The
// fields of MP or RC follow, by kind.
type Transport struct {
	Kind string `oneof:"transport"`

	QPs        int           `yaml:"qps"` // queue pairs of a flow; 0: 1
	Chunk      Bytes         // into which a flow of several queue pairs is cut; 0: 32 KiB
	Depth      int           // messages that a queue pair has outstanding; 0: 16, and 1 with several queue pairs
	HostDepth  int           // messages that all queue pairs of a host have outstanding together; 0: no bound
	AckTimeout int           // 4.096 µs · 2^AckTimeout; 0: never
	Retry      int           // retries after a timeout or sequence error
	Op         sim.Operation // that moves the bytes

	MP *MP `yaml:"-"`
	RC *RC `yaml:"-"`
}

// The kinds of transport.
const (
	kindMP = "mp"
	kindRC = "rc"
)

// defaultName is that of a scenario's only transport.
const defaultName = "default"

func (t *Transport) choose(d *decoder, mapping *yaml.Node, field string) bool {
	t.AckTimeout, t.Retry = defaultAckTimeout, defaultRetry
	switch text(mapping, "kind") {
	case kindMP:
		preset := text(mapping, "preset")
		if preset == "" {
			preset = presetPaper
		}
		o, ok := presets[preset]
		if !ok {
			d.unknownKind(mapping, field, "preset", sortedKeys(presets))
			return false
		}
		t.MP = mpOf(preset, o())
	case kindRC:
		t.RC = defaultRC()
	default:
		d.unknownKind(mapping, field, "kind", []string{kindMP, kindRC})
		return false
	}
	return true
}

const (
	defaultAckTimeout = 14
	defaultRetry      = 7
)

func (t *Transport) parts() []any {
	switch {
	case t.MP != nil:
		return []any{t.MP}
	case t.RC != nil:
		return []any{t.RC}
	}
	return nil
}

// carrier is the transport as the simulator takes it. lineRate is that of the
// hosts; observe, if not nil, is told the out-of-order degree of each packet.
func (t *Transport) carrier(lineRate int64, observe func(int)) sim.Carrier {
	c := sim.Carrier{QPs: t.QPs, Chunk: int(t.Chunk), Depth: t.Depth, HostDepth: t.HostDepth, Op: t.Op}
	c.QP.Conn.AckTimeout = verbs.AckTimeoutOf(t.AckTimeout)
	c.QP.Conn.RetryCount = orNone(t.Retry)
	if t.MP != nil {
		c.QP.Type, c.QP.MP = verbs.MP, t.MP.options()
		c.QP.MP.ObserveDegree = observe
		c.QP.Conn.Paths = t.MP.Paths
	} else {
		c.QP.Type, c.QP.RC = verbs.RC, t.RC.options(lineRate)
	}
	return c
}

// orNone is a number where verbs takes zero for the default.
func orNone(n int) int {
	if n == 0 {
		return verbs.None
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
