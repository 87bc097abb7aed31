package perf

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
)

func TestSpecDefaults(t *testing.T) {
	tests := []struct {
		op         Op
		metric     Metric
		size       int
		iterations int
	}{
		{Write, Bandwidth, 65536, 5000},
		{Send, Bandwidth, 65536, 1000},
		{Read, Bandwidth, 65536, 1000},
		{Atomic, Bandwidth, 8, 1000},
		{Write, Latency, 2, 1000},
		{Atomic, Latency, 8, 1000},
	}
	for _, test := range tests {
		s := Spec{Op: test.op, Metric: test.metric}.WithDefaults()
		if s.Size != test.size || s.Iterations != test.iterations || s.TxDepth != 128 || s.Paths != 0 {
			t.Errorf("%s %s: %+v", test.op, test.metric, s)
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s %s: %v", test.op, test.metric, err)
		}
	}
}

func TestSpecCheck(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Spec)
		want   string // part of the error; empty: none
	}{
		{"good", func(*Spec) {}, ""},
		{"largest", func(s *Spec) { s.Size = MaxSize }, ""},
		{"rc", func(s *Spec) { *s = Spec{Op: Write, Metric: Bandwidth, QP: "rc"}.WithDefaults() }, ""},
		{"operation", func(s *Spec) { s.Op = "fly" }, "unknown operation"},
		{"metric", func(s *Spec) { s.Metric = "speed" }, "unknown metric"},
		{"negative size", func(s *Spec) { s.Size = -1 }, "size -1"},
		{"size", func(s *Spec) { s.Size = MaxSize + 1 }, "size"},
		{"atomic size", func(s *Spec) { s.Op, s.Size = Atomic, 16 }, "8 bytes"},
		{"iterations", func(s *Spec) { s.Iterations = -5 }, "iterations"},
		{"duration", func(s *Spec) { s.Duration = -time.Second }, "duration"},
		{"queue pairs", func(s *Spec) { s.QPs = MaxQPs + 1 }, "queue pairs"},
		{"depth", func(s *Spec) { s.TxDepth = -1 }, "tx depth"},
		{"rx depth", func(s *Spec) { s.Op, s.RxDepth = Send, transport.MaxQueueDepth+1 }, "rx depth"},
		{"rx depth of write bw", func(s *Spec) { s.RxDepth = 1 }, "rx depth"},
		{"group", func(s *Spec) { s.Group = s.TxDepth + 1 }, "groups of"},
		{"inline", func(s *Spec) { s.Inline = transport.MaxInline + 1 }, "inline size"},
		{"inline of read", func(s *Spec) { s.Op, s.Inline = Read, 8 }, "inline"},
		{"memory", func(s *Spec) { s.QPs, s.Size = 1000, MaxSize }, "too much memory"},
		{"completions", func(s *Spec) { s.QPs, s.TxDepth, s.Size = MaxQPs, MaxDepth, 1 }, "tx depth"},
		{"mtu", func(s *Spec) { s.MTU = 1502 }, "MTU 1502"},
		{"mtu of mp", func(s *Spec) { s.MTU = 1420 }, ""},
		{"mtu of rc", func(s *Spec) { *s = Spec{Op: Write, Metric: Bandwidth, QP: "rc", MTU: 1420}.WithDefaults() }, "MTU 1420"},
		{"paths", func(s *Spec) { s.Paths = 257 }, "257 paths"},
		{"type", func(s *Spec) { *s = Spec{Op: Write, Metric: Bandwidth, QP: "ud"}.WithDefaults() }, "mp or rc"},
		{"policy", func(s *Spec) { s.Policy = "luck" }, "path policy"},
		{"control", func(s *Spec) { s.CC = "luck" }, "congestion control"},
		{"rc with a policy", func(s *Spec) { s.QP = "rc" }, "use them with mp"},
		{"mp with a rate control", func(s *Spec) { s.CC = "dcqcn" }, `"dcqcn" is a rate control of RC queue pairs`},
		{"rc with a window", func(s *Spec) { s.QP, s.Policy, s.LineRate = "rc", "", 1e9 }, `"mp-rdma" is a congestion control of MP queue pairs`},
		{"mp with a line rate", func(s *Spec) { s.LineRate = 1e9 }, "use it with rc"},
		{"rc without a rate", func(s *Spec) { s.QP, s.Policy, s.CC, s.LineRate = "rc", "", "dcqcn", 1e6 }, "line rate of 0.001 Gb/s: use 0.1 to 10000"},
		{"latency of many", func(s *Spec) { s.Metric, s.QPs = Latency, 2 }, "one queue pair"},
		{"latency both ways", func(s *Spec) { s.Metric, s.Bidirectional = Latency, true }, "bidirectional"},
		{"latency verified", func(s *Spec) { s.Metric, s.Verify = Latency, true }, "verified"},
	}
	for _, test := range tests {
		s := Spec{Op: Write, Metric: Bandwidth}.WithDefaults()
		test.change(&s)
		err := s.Check()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (!errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want ErrSpec with %q", test.name, err, test.want)
		}
	}
}

// Every name of the registry can be chosen, for the type that it belongs to.
func TestSpecTakesEveryName(t *testing.T) {
	mp := Spec{Op: Write, Metric: Bandwidth}
	for _, policy := range transport.PathPolicies.Names() {
		for _, control := range transport.CongestionControls.Names() {
			s := mp
			s.Policy, s.CC = strings.ReplaceAll(policy, "-", ""), strings.ToUpper(control)
			s = s.WithDefaults()
			o, err := s.queuePairOptions()
			if err != nil || s.Check() != nil || o.MP.Policy == nil || o.MP.Control == nil || s.Policy != policy || s.CC != control {
				t.Errorf("%s, %s: %+v, %v", policy, control, s, err)
			}
		}
	}
	for _, control := range transport.RateControls.Names() {
		s := Spec{Op: Write, Metric: Bandwidth, QP: "rc", CC: control}.WithDefaults()
		o, err := s.queuePairOptions()
		if err != nil || s.Check() != nil || (o.RC.Rate == nil) != (control == "none") {
			t.Errorf("%s: %+v, %v", control, s, err)
		}
	}
}

// Each type of queue pair has the ACK timeout that suits it, unless one is asked for.
func TestDefaultQPTimeout(t *testing.T) {
	for _, test := range []struct {
		qp          string
		asked, want int
	}{{"rc", 0, 14}, {"mp", 0, 17}, {"", 0, 17}, {"mp", 9, 9}, {"rc", 20, 20}} {
		s := Spec{Op: Write, Metric: Bandwidth, QP: test.qp, QPTimeout: test.asked}.WithDefaults()
		if s.QPTimeout != test.want {
			t.Errorf("%q, asked for %d: %d, want %d", test.qp, test.asked, s.QPTimeout, test.want)
		}
	}
}
