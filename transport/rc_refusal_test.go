package transport

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// TestRCInvalidRequests (faults, row 14): each is answered with NAK invalid
// request at the packet that breaks the rule, and ends the connection.
func TestRCInvalidRequests(t *testing.T) {
	sendFirst := func(s *rcScript) { s.request(wire.SendFirst, 0, 256, nil) }
	writeFirst := func(s *rcScript) { s.request(wire.WriteFirst, 0, 256, s.readLength(600)) }
	for name, c := range map[string]struct {
		prepare func(*rcScript)
		op      wire.Opcode
		length  int
		change  func(*Packet)
	}{
		"MIDDLE without FIRST":       {nil, wire.SendMiddle, 256, nil},
		"LAST without FIRST":         {nil, wire.WriteLast, 4, nil},
		"FIRST after FIRST":          {sendFirst, wire.SendFirst, 256, nil},
		"ONLY after FIRST":           {sendFirst, wire.SendOnly, 4, nil},
		"WRITE within SEND":          {sendFirst, wire.WriteMiddle, 256, nil},
		"SEND within WRITE":          {writeFirst, wire.SendMiddle, 256, nil},
		"READ within WRITE":          {writeFirst, wire.ReadRequest, 0, nil},
		"atomic within SEND":         {sendFirst, wire.FetchAdd, 0, nil},
		"FIRST too short":            {nil, wire.SendFirst, 255, nil},
		"FIRST too long":             {nil, wire.SendFirst, 257, nil},
		"MIDDLE too short":           {sendFirst, wire.SendMiddle, 100, nil},
		"LAST empty":                 {sendFirst, wire.SendLast, 0, nil},
		"LAST too long":              {sendFirst, wire.SendLast, 257, nil},
		"ONLY too long":              {nil, wire.SendOnly, 257, nil},
		"WRITE ONLY not as long":     {nil, wire.WriteOnly, 4, func(p *Packet) { p.RETH.Length = 5 }},
		"WRITE ONLY longer":          {nil, wire.WriteOnly, 4, func(p *Packet) { p.RETH.Length = 3 }},
		"WRITE FIRST is all":         {nil, wire.WriteFirst, 256, nil},
		"WRITE ends early":           {writeFirst, wire.WriteLast, 100, nil},
		"WRITE beyond its length":    {func(s *rcScript) { writeFirst(s); s.request(wire.WriteMiddle, 1, 256, nil) }, wire.WriteLast, 200, nil},
		"WRITE goes on too long":     {func(s *rcScript) { writeFirst(s); s.request(wire.WriteMiddle, 1, 256, nil) }, wire.WriteMiddle, 256, nil},
		"WRITE longer than allowed":  {nil, wire.WriteFirst, 256, func(p *Packet) { p.RETH.Length = MaxMessage + 1 }},
		"READ longer than allowed":   {nil, wire.ReadRequest, 0, func(p *Packet) { p.RETH.Length = MaxMessage + 1 }},
		"atomic not aligned":         {nil, wire.CompareSwap, 0, func(p *Packet) { p.AtomicETH.VA += 4 }},
		"READ beyond resources":      {askFourTimes, wire.ReadRequest, 0, nil},
		"atomic beyond resources":    {askFourTimes, wire.FetchAdd, 0, nil},
		"READ request with payload":  {nil, wire.ReadRequest, 4, nil},
		"SEND longer than a receive": {func(s *rcScript) { sendFirst(s); s.request(wire.SendMiddle, 1, 256, nil) }, wire.SendLast, 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRCScript(t, nil)
			s.recv(1, 700)
			if c.prepare != nil {
				c.prepare(s)
			}
			s.wantState("prepared", RTS)
			psn := s.resp.expected
			if s.request(c.op, psn, c.length, c.change) != Drop {
				t.Error("not dropped")
			}
			if sent := s.sent(); len(sent) == 0 || s.packet.AETH.Syndrome != wire.NakInvalidRequest || s.packet.PSN != psn {
				t.Errorf("answered %q", sent)
			}
			status := "1 WR_FLUSH_ERR"
			if name == "SEND longer than a receive" {
				status = "1 LOC_LEN_ERR"
			}
			s.wantCompletions("the receive", status)
			s.wantState("ends", Err)
			s.wantEvents("ends", EventQPReqErr)
			s.request(wire.WriteOnly, psn, 4, nil)
			s.wantSent("nothing is executed any more")
		})
	}
}

func askFourTimes(s *rcScript) {
	for psn := range wire.PSN(4) {
		s.request(wire.FetchAdd, psn, 0, nil)
	}
}

// TestRCRemoteAccess (faults, row 34): memory stays as it is.
func TestRCRemoteAccess(t *testing.T) {
	for name, change := range map[string]func(*rcScript, *wire.RETH){
		"wrong key":            func(_ *rcScript, h *wire.RETH) { h.RKey++ },
		"one byte beyond":      func(_ *rcScript, h *wire.RETH) { h.VA += regionSize - 7 },
		"one byte before":      func(_ *rcScript, h *wire.RETH) { h.VA-- },
		"address overflows":    func(_ *rcScript, h *wire.RETH) { h.VA = math.MaxUint64 - 3 },
		"other domain":         func(s *rcScript, _ *wire.RETH) { s.region.PD++ },
		"no right":             func(s *rcScript, _ *wire.RETH) { s.region.Access = LocalWrite },
		"deregistered":         func(s *rcScript, _ *wire.RETH) { s.mem.deregister(s.region) },
		"aligned, just beyond": func(_ *rcScript, h *wire.RETH) { h.VA += regionSize },
	} {
		for _, op := range []wire.Opcode{wire.WriteOnly, wire.WriteOnlyImm, wire.ReadRequest, wire.FetchAdd} {
			if op == wire.FetchAdd && (name == "one byte beyond" || name == "one byte before" || name == "address overflows") {
				continue // not aligned: an invalid request before anything else
			}
			t.Run(name+" "+op.String(), func(t *testing.T) {
				s := newRCScript(t, nil)
				s.recv(1, 8)
				length := 8
				if !op.IsWrite() {
					length = 0
				}
				s.request(op, 0, length, func(p *Packet) {
					p.RETH.Length = 8
					change(s, &p.RETH)
					p.AtomicETH.VA, p.AtomicETH.RKey = p.RETH.VA, p.RETH.RKey
				})
				s.wantSent("refused", "NAK_REMOTE_ACCESS 0")
				s.wantState("refused", Err)
				s.wantEvents("refused", EventQPAccessErr)
				s.wantCompletions("receive", "1 WR_FLUSH_ERR")
				if s.mem.atomics != 0 || s.Counters().AccessErrors != 1 {
					t.Error("memory was touched, or nothing counted")
				}
			})
		}
	}
}

func TestRCRangeIsCheckedBeforeTheFirstByte(t *testing.T) {
	s := newRCScript(t, nil)
	v := s.request(wire.WriteFirst, 0, 256, func(p *Packet) { p.RETH.Length = regionSize + 1 })
	if v != Drop {
		t.Error("the first packet was placed although the whole does not fit")
	}
	s.wantSent("refused", "NAK_REMOTE_ACCESS 0")
}

func TestRCNoBytesNeedNoKey(t *testing.T) {
	s := newRCScript(t, nil)
	badKey := func(p *Packet) { p.RETH = wire.RETH{VA: 1, RKey: 0xdead} }
	if s.request(wire.WriteOnly, 0, 0, badKey) != Done {
		t.Error("empty WRITE refused")
	}
	s.request(wire.ReadRequest, 1, 0, badKey)
	s.wantSent("empty READ", "READ_RESPONSE_ONLY 1")
}

// TestRCRegionGoneMidway (faults, row 33): no byte moves after deregistration.
func TestRCRegionGoneMidway(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.WriteFirst, 0, 256, s.readLength(300))
	s.mem.deregister(s.region)
	if s.request(wire.WriteLast, 1, 44, nil) != Drop {
		t.Error("written after deregistration")
	}
	s.wantSent("write", "NAK_REMOTE_ACCESS 1")

	s = newRCScript(t, nil)
	s.request(wire.ReadRequest, 0, 0, s.readLength(3*256))
	s.PollTransmit(s.now, &s.packet)
	s.mem.deregister(s.region)
	s.wantSent("read", "NAK_REMOTE_ACCESS 1")
	s.wantState("read", Err)

	s = newRCScript(t, nil)
	buffer := s.mem.register(7, 400, LocalWrite)
	if err := s.PostRecv(&RecvWR{ID: 5, SGEs: []SGE{buffer.span(0, 400)}}); err != nil {
		t.Fatal(err)
	}
	s.request(wire.SendFirst, 0, 256, nil)
	s.mem.deregister(buffer)
	s.request(wire.SendLast, 1, 4, nil)
	s.wantSent("our own fault", "NAK_REMOTE_OPERATIONAL 1")
	s.wantCompletions("receive", "5 LOC_PROT_ERR")
	s.wantEvents("receive", EventQPFatal)
}

// TestRCKeyEndsMidway: no byte moves by a key that is ended, also where the WRITE
// began before; the region itself lives on.
func TestRCKeyEndsMidway(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.WriteFirst, 0, 256, s.readLength(300))
	delete(s.mem.regions, s.region.RKey)
	if s.request(wire.WriteLast, 1, 44, nil) != Drop {
		t.Error("written by a key that is ended")
	}
	s.wantSent("write", "NAK_REMOTE_ACCESS 1")
	s.wantState("write", Err)
}

func TestRCInvalidateRefused(t *testing.T) {
	s := newRCScript(t, nil)
	s.recv(1, 10)
	if s.request(wire.SendOnlyInv, 0, 4, func(p *Packet) { p.IETH.RKey = 0xdead }) != Drop {
		t.Error("placed")
	}
	s.wantSent("unknown key", "NAK_REMOTE_ACCESS 0")
	s.wantCompletions("receive", "1 WR_FLUSH_ERR")
}

// TestRCForeignPackets: other services and partitions have no effect.
func TestRCForeignPackets(t *testing.T) {
	s := newRCScript(t, nil)
	for _, op := range []wire.Opcode{wire.UDSendOnly, wire.MPBit | wire.WriteOnly, wire.MPProbe, 0x15, 0x1f, 0xff} {
		if s.request(op, 0, 4, nil) != Drop {
			t.Errorf("%v was taken", op)
		}
	}
	s.request(wire.WriteOnly, 0, 4, func(p *Packet) { p.PKey = 0x1234 })
	s.wantSent("silence")
	s.wantState("unharmed", RTS)
	if n := s.Counters().Malformed; n != 7 {
		t.Errorf("counted %d", n)
	}
	if s.request(wire.WriteOnly, 0, 4, func(p *Packet) { p.PKey = 0x7fff }) != Place {
		t.Error("a limited member of the partition was refused")
	}
}
