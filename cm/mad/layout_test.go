package mad

import (
	"bytes"
	"testing"
)

// TestLayout sets one field of a message at a time to all ones and expects
// exactly the bits that the specification gives it. Offsets count from the end
// of the header, as in the tables of chapter 12.
func TestLayout(t *testing.T) {
	ones := func(n int) []byte { return bytes.Repeat([]byte{0xff}, n) }
	tests := []struct {
		field  string
		m      Message
		offset int
		want   []byte
	}{
		{"REQ local comm ID", &REQ{LocalID: 0xffffffff}, 0, ones(4)},
		{"REQ service ID", &REQ{Service: 0xffffffffffffffff}, 8, ones(8)},
		{"REQ CA GUID", &REQ{LocalGUID: 0xffffffffffffffff}, 16, ones(8)},
		{"REQ Q_Key", &REQ{QKey: 0xffffffff}, 28, ones(4)},
		{"REQ QPN", &REQ{QPN: 0xffffff}, 32, ones(3)},
		{"REQ responder resources", &REQ{ResponderResources: 0xff}, 35, ones(1)},
		{"REQ initiator depth", &REQ{InitiatorDepth: 0xff}, 39, ones(1)},
		{"REQ remote response timeout", &REQ{RemoteTimeout: 31}, 43, []byte{0xf8}},
		{"REQ transport", &REQ{Transport: 3}, 43, []byte{0x06}},
		{"REQ flow control", &REQ{FlowControl: true}, 43, []byte{0x01}},
		{"REQ PSN", &REQ{PSN: 0xffffff}, 44, ones(3)},
		{"REQ local response timeout", &REQ{LocalTimeout: 31}, 47, []byte{0xf8}},
		{"REQ retry count", &REQ{Retry: 7}, 47, []byte{0x07}},
		{"REQ P_Key", &REQ{PKey: 0xffff}, 48, ones(2)},
		{"REQ MTU", &REQ{MTU: 15}, 50, []byte{0xf0}},
		{"REQ RNR retry count", &REQ{RNRRetry: 7}, 50, []byte{0x07}},
		{"REQ CM retries", &REQ{MaxCMRetries: 15}, 51, []byte{0xf0}},
		{"REQ SRQ", &REQ{SRQ: true}, 51, []byte{0x08}},
		{"REQ local LID", &REQ{Primary: Route{LocalLID: 0xffff}}, 52, ones(2)},
		{"REQ remote LID", &REQ{Primary: Route{RemoteLID: 0xffff}}, 54, ones(2)},
		{"REQ local GID", &REQ{Primary: Route{LocalGID: [16]byte(ones(16))}}, 56, ones(16)},
		{"REQ remote GID", &REQ{Primary: Route{RemoteGID: [16]byte(ones(16))}}, 72, ones(16)},
		{"REQ flow label", &REQ{Primary: Route{FlowLabel: 0xfffff}}, 88, []byte{0xff, 0xff, 0xf0}},
		{"REQ packet rate", &REQ{Primary: Route{PacketRate: 0x3f}}, 91, []byte{0x3f}},
		{"REQ traffic class", &REQ{Primary: Route{TrafficClass: 0xff}}, 92, ones(1)},
		{"REQ hop limit", &REQ{Primary: Route{HopLimit: 0xff}}, 93, ones(1)},
		{"REQ SL", &REQ{Primary: Route{SL: 15}}, 94, []byte{0xf0}},
		{"REQ subnet local", &REQ{Primary: Route{SubnetLocal: true}}, 94, []byte{0x08}},
		{"REQ ACK timeout", &REQ{Primary: Route{AckTimeout: 31}}, 95, []byte{0xf8}},
		{"REQ private data", &REQ{PrivateData: [92]byte(ones(92))}, 140, ones(92)},

		{"REP local comm ID", &REP{LocalID: 0xffffffff}, 0, ones(4)},
		{"REP remote comm ID", &REP{RemoteID: 0xffffffff}, 4, ones(4)},
		{"REP Q_Key", &REP{QKey: 0xffffffff}, 8, ones(4)},
		{"REP QPN", &REP{QPN: 0xffffff}, 12, ones(3)},
		{"REP PSN", &REP{PSN: 0xffffff}, 20, ones(3)},
		{"REP responder resources", &REP{ResponderResources: 0xff}, 24, ones(1)},
		{"REP initiator depth", &REP{InitiatorDepth: 0xff}, 25, ones(1)},
		{"REP target ACK delay", &REP{TargetAckDelay: 31}, 26, []byte{0xf8}},
		{"REP failover", &REP{Failover: 3}, 26, []byte{0x06}},
		{"REP flow control", &REP{FlowControl: true}, 26, []byte{0x01}},
		{"REP RNR retry count", &REP{RNRRetry: 7}, 27, []byte{0xe0}},
		{"REP SRQ", &REP{SRQ: true}, 27, []byte{0x10}},
		{"REP CA GUID", &REP{LocalGUID: 0xffffffffffffffff}, 28, ones(8)},
		{"REP private data", &REP{PrivateData: [196]byte(ones(196))}, 36, ones(196)},

		{"REJ local comm ID", &REJ{LocalID: 0xffffffff}, 0, ones(4)},
		{"REJ remote comm ID", &REJ{RemoteID: 0xffffffff}, 4, ones(4)},
		{"REJ message", &REJ{Subject: 3}, 8, []byte{0xc0}},
		{"REJ info length", &REJ{InfoLen: 72}, 9, []byte{72 << 1}},
		{"REJ reason", &REJ{Reason: 0xffff}, 10, ones(2)},
		{"REJ info", &REJ{Info: [72]byte(ones(72))}, 12, ones(72)},
		{"REJ private data", &REJ{PrivateData: [148]byte(ones(148))}, 84, ones(148)},

		{"MRA local comm ID", &MRA{LocalID: 0xffffffff}, 0, ones(4)},
		{"MRA remote comm ID", &MRA{RemoteID: 0xffffffff}, 4, ones(4)},
		{"MRA message", &MRA{Subject: 3}, 8, []byte{0xc0}},
		{"MRA service timeout", &MRA{ServiceTimeout: 31}, 9, []byte{0xf8}},
		{"MRA private data", &MRA{PrivateData: [222]byte(ones(222))}, 10, ones(222)},

		{"RTU local comm ID", &RTU{LocalID: 0xffffffff}, 0, ones(4)},
		{"RTU remote comm ID", &RTU{RemoteID: 0xffffffff}, 4, ones(4)},
		{"RTU private data", &RTU{PrivateData: [224]byte(ones(224))}, 8, ones(224)},
		{"DREQ local comm ID", &DREQ{LocalID: 0xffffffff}, 0, ones(4)},
		{"DREQ remote comm ID", &DREQ{RemoteID: 0xffffffff}, 4, ones(4)},
		{"DREQ remote QPN", &DREQ{RemoteQPN: 0xffffff}, 8, ones(3)},
		{"DREQ private data", &DREQ{PrivateData: [220]byte(ones(220))}, 12, ones(220)},
		{"DREP local comm ID", &DREP{LocalID: 0xffffffff}, 0, ones(4)},
		{"DREP remote comm ID", &DREP{RemoteID: 0xffffffff}, 4, ones(4)},
		{"DREP private data", &DREP{PrivateData: [224]byte(ones(224))}, 8, ones(224)},
	}
	for _, test := range tests {
		got := Append(nil, test.m, 0)[HeaderLen:]
		want := make([]byte, Len-HeaderLen)
		copy(want[test.offset:], test.want)
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", test.field, got, want)
		}
	}
}

// TestHeader checks the bytes that every message shares.
func TestHeader(t *testing.T) {
	for a, m := range map[byte]Message{
		0x10: new(REQ), 0x11: new(MRA), 0x12: new(REJ), 0x13: new(REP),
		0x14: new(RTU), 0x15: new(DREQ), 0x16: new(DREP),
	} {
		got := Append([]byte("before"), m, 0x0102030405060708)
		want := []byte{1, 7, 2, 3, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, a, 0, 0, 0, 0, 0, 0}
		if string(got[:6]) != "before" || !bytes.Equal(got[6:6+HeaderLen], want) || len(got) != 6+Len {
			t.Errorf("%v: %x", m.Attribute(), got[:30])
		}
	}
}
