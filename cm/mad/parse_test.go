package mad

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

// samples are a message of each kind with every field filled.
func samples() []Message {
	private := func(b []byte) {
		for i := range b {
			b[i] = byte(i + 1)
		}
	}
	req := &REQ{
		LocalID: 0x11223344, Service: PortService(7174), LocalGUID: 0x0203040506070809, QKey: 5, QPN: 0xabcdef,
		ResponderResources: 16, InitiatorDepth: 7, RemoteTimeout: 20, LocalTimeout: 15, Transport: TransportUC,
		FlowControl: true, PSN: 0x123456, Retry: 7, RNRRetry: 6, PKey: 0xffff, MTU: 3, MaxCMRetries: 15, SRQ: true,
		Primary: Route{
			LocalLID: 0xffff, RemoteLID: 0xfffe, LocalGID: GID(netip.MustParseAddr("10.0.0.1")),
			RemoteGID: GID(netip.MustParseAddr("fe80::1")), FlowLabel: 0xabcde, PacketRate: 3, TrafficClass: 4,
			HopLimit: 64, SL: 5, SubnetLocal: true, AckTimeout: 18,
		},
	}
	private(req.PrivateData[:])
	rep := &REP{
		LocalID: 1, RemoteID: 2, QKey: 3, QPN: 4, PSN: 5, ResponderResources: 6, InitiatorDepth: 7,
		TargetAckDelay: 8, Failover: 1, FlowControl: true, RNRRetry: 7, SRQ: true, LocalGUID: 9,
	}
	private(rep.PrivateData[:])
	rej := &REJ{LocalID: 1, RemoteID: 2, Subject: SubjectREP, Reason: ReasonConsumer, InfoLen: 72}
	private(rej.Info[:])
	private(rej.PrivateData[:])
	mra := &MRA{LocalID: 1, RemoteID: 2, Subject: SubjectOther, ServiceTimeout: 19}
	private(mra.PrivateData[:])
	rtu, dreq, drep := &RTU{LocalID: 3, RemoteID: 4}, &DREQ{LocalID: 5, RemoteID: 6, RemoteQPN: 7}, &DREP{LocalID: 8, RemoteID: 9}
	private(rtu.PrivateData[:])
	private(dreq.PrivateData[:])
	private(drep.PrivateData[:])
	return []Message{req, rep, rej, mra, rtu, dreq, drep}
}

func TestRoundTrip(t *testing.T) {
	for _, m := range samples() {
		again, tid, err := Parse(Append(nil, m, 77))
		if err != nil || tid != 77 || !reflect.DeepEqual(again, m) {
			t.Errorf("%v: %+v, %d, %v", m.Attribute(), again, tid, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(b []byte) []byte
		want   error
	}{
		{"nothing", func([]byte) []byte { return nil }, ErrLength},
		{"one byte short", func(b []byte) []byte { return b[:Len-1] }, ErrLength},
		{"one byte more", func(b []byte) []byte { return append(b, 0) }, ErrLength},
		{"base version", func(b []byte) []byte { b[0] = 2; return b }, ErrVersion},
		{"other class", func(b []byte) []byte { b[1] = 3; return b }, ErrClass},
		{"class version", func(b []byte) []byte { b[2] = 1; return b }, ErrVersion},
		{"method", func(b []byte) []byte { b[3] = 1; return b }, ErrAttribute},
		{"SIDR", func(b []byte) []byte { b[17] = 0x17; return b }, ErrAttribute},
	}
	for _, test := range tests {
		if _, _, err := Parse(test.change(Append(nil, new(RTU), 1))); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestREJInfoIsBounded(t *testing.T) {
	b := Append(nil, new(REJ), 1)
	b[HeaderLen+9] = 0xff
	m, _, err := Parse(b)
	if err != nil || m.(*REJ).InfoLen != REJInfoLen {
		t.Errorf("%+v, %v", m, err)
	}
}

// FuzzParse checks that no input panics, and that what was accepted survives
// being written and read again, without a bit that was not there before.
func FuzzParse(f *testing.F) {
	for _, m := range samples() {
		f.Add(Append(nil, m, 1))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, tid, err := Parse(b)
		if err != nil {
			return
		}
		out := Append(nil, m, tid)
		again, _, err := Parse(out)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("parsed again: %+v, %v; want %+v", again, err, m)
		}
		_, capped := m.(*REJ)
		for i := range out {
			if capped && i == HeaderLen+9 {
				continue // an information length beyond the room is brought down to it
			}
			if out[i]&^b[i] != 0 {
				t.Fatalf("byte %d was %02x and is written as %02x", i, b[i], out[i])
			}
		}
	})
}

func TestIPHeader(t *testing.T) {
	tests := []struct {
		h    IPHeader
		want []byte
	}{
		{
			IPHeader{SrcPort: 0x1234, Src: netip.MustParseAddr("10.1.2.3"), Dst: netip.MustParseAddr("10.4.5.6")},
			[]byte{
				0, 0x40, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 1, 2, 3,
				0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 4, 5, 6,
			},
		},
		{
			IPHeader{SrcPort: 1, Src: netip.MustParseAddr("fe80::1"), Dst: netip.MustParseAddr("fe80::2")},
			[]byte{
				0, 0x60, 0, 1, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
				0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
			},
		},
	}
	for _, test := range tests {
		b := test.h.Append(nil)
		if !bytes.Equal(b, test.want) {
			t.Errorf("%v: %x, want %x", test.h, b, test.want)
		}
		h, rest, err := ParseIPHeader(append(b, "rest"...))
		if err != nil || h != test.h || string(rest) != "rest" {
			t.Errorf("%+v %q %v", h, rest, err)
		}
	}
	for name, b := range map[string][]byte{
		"short": make([]byte, 35), "version": append([]byte{1, 0x40}, make([]byte, 34)...), "IP version": make([]byte, 36),
	} {
		if _, _, err := ParseIPHeader(b); !errors.Is(err, ErrIPHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b := (IPHeader{}).Append(nil); len(b) != IPHeaderLen {
		t.Errorf("no addresses: %x", b)
	}
}

func TestNumbers(t *testing.T) {
	if s := PortService(7174); s != 0x0000000001061c06 {
		t.Errorf("service of rping's port: %#x", uint64(s))
	}
	if p, ok := ServiceID(0x0000000001061c06).Port(); p != 7174 || !ok {
		t.Errorf("port %d, %v", p, ok)
	}
	if _, ok := ServiceID(0x0000000001110001).Port(); ok {
		t.Error("a UDP port passes for a TCP port")
	}
	for mtu, code := range map[int]MTU{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5, 1500: 3, 8920: 5, 255: 0, 0: 0} {
		if got := MTUOf(mtu); got != code || code.Bytes() > mtu {
			t.Errorf("MTU %d has code %d", mtu, got)
		}
	}
	for code, want := range map[Interval]time.Duration{0: 4096, 1: 8192, 14: 67_108_864, 31: 4096 << 31} {
		if got := code.Duration(); got != want {
			t.Errorf("code %d stands for %v, want %v", code, got, want)
		}
	}
	if d := Interval(255).Duration(); d != Interval(31).Duration() {
		t.Errorf("a code beyond five bits stands for %v", d)
	}
	if ReasonStale.String() != "stale connection" || Reason(99).String() != "reason 99" || Attribute(9).String() != "attribute 0x9" {
		t.Error("names")
	}
}
