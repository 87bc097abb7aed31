package wire

// Headers are the headers of one packet. The opcode in BTH says which of the
// other fields mean anything. A caller keeps one Headers and parses packet
// after packet into it.
type Headers struct {
	BTH
	RETH      RETH
	AETH      AETH
	MP        MPData
	Ack       MPAck
	Imm       ImmDt
	IETH      IETH
	DETH      DETH
	AtomicETH AtomicETH
	AtomicAck AtomicAckETH
	Batch     MPAckBatch
}

// ParseHeaders reads BTH and the extension headers of its opcode into h and
// returns the payload, without its pad, as a part of b. b is a UDP payload
// without the ICRC.
//
// Fields of h that the opcode does not use keep what an earlier packet left in
// them, since clearing them would cost more than parsing. After an error h
// holds nothing of meaning.
func ParseHeaders(b []byte, h *Headers) (payload []byte, err error) {
	if len(b) < BTHLen {
		return nil, ErrTruncated
	}
	h.BTH.load(b)
	info := &opcodes[h.Opcode]
	if !info.is(opValid) {
		return nil, ErrOpcode
	}
	if h.TVer != 0 {
		return nil, ErrVersion
	}
	end := int(info.headerLen)
	if len(b) < end {
		return nil, ErrTruncated
	}
	if err := h.loadExtensions(info.ext, b[BTHLen:end]); err != nil {
		return nil, err
	}
	return trimPad(b[end:], info, int(h.Pad))
}

// trimPad returns the payload in what follows the headers.
func trimPad(rest []byte, info *opcodeInfo, pad int) ([]byte, error) {
	if pad > len(rest) {
		return nil, ErrPad
	}
	if len(rest) > 0 && !info.is(opPayload) {
		return nil, ErrPayload
	}
	return rest[:len(rest)-pad], nil
}

// loadExtensions reads the headers in ext, in the order of their bits, from b,
// which is as long as they are.
func (h *Headers) loadExtensions(ext extSet, b []byte) error {
	if ext&extMPData != 0 {
		if err := h.MP.load(b); err != nil {
			return err
		}
		b = b[MPDataLen:]
	}
	if ext&extDETH != 0 {
		h.DETH.load(b)
		b = b[DETHLen:]
	}
	if ext&extRETH != 0 {
		h.RETH.load(b)
		b = b[RETHLen:]
	}
	if ext&extAtomicETH != 0 {
		h.AtomicETH.load(b)
		b = b[AtomicETHLen:]
	}
	if ext&extAETH != 0 {
		h.AETH.load(b)
		b = b[AETHLen:]
	}
	switch {
	case ext&extAtomicAck != 0:
		h.AtomicAck.load(b)
	case ext&extImm != 0:
		h.Imm.load(b)
	case ext&extIETH != 0:
		h.IETH.load(b)
	case ext&extMPAck != 0:
		return h.Ack.load(b)
	case ext&extMPAckBatch != 0:
		return h.Batch.load(b)
	}
	return nil
}

// Append writes BTH and the extension headers of its opcode after b. An unknown
// opcode has none. The payload and [PadLen] zero bytes after it are the
// caller's.
func (h *Headers) Append(b []byte) []byte {
	info := &opcodes[h.Opcode]
	b, space := extend(b, int(info.headerLen))
	h.BTH.put(space)
	h.putExtensions(info.ext, space[BTHLen:])
	return b
}

// putExtensions is the inverse of loadExtensions.
func (h *Headers) putExtensions(ext extSet, b []byte) {
	if ext&extMPData != 0 {
		h.MP.put(b)
		b = b[MPDataLen:]
	}
	if ext&extDETH != 0 {
		h.DETH.put(b)
		b = b[DETHLen:]
	}
	if ext&extRETH != 0 {
		h.RETH.put(b)
		b = b[RETHLen:]
	}
	if ext&extAtomicETH != 0 {
		h.AtomicETH.put(b)
		b = b[AtomicETHLen:]
	}
	if ext&extAETH != 0 {
		h.AETH.put(b)
		b = b[AETHLen:]
	}
	switch {
	case ext&extAtomicAck != 0:
		h.AtomicAck.put(b)
	case ext&extImm != 0:
		h.Imm.put(b)
	case ext&extIETH != 0:
		h.IETH.put(b)
	case ext&extMPAck != 0:
		h.Ack.put(b)
	case ext&extMPAckBatch != 0:
		h.Batch.put(b)
	case ext&extCNP != 0:
		putCNPReserved(b)
	}
}

// Len returns how many bytes Append writes.
func (h *Headers) Len() int { return int(opcodes[h.Opcode].headerLen) }

// VirtualPath is the path that a multi-path packet names: the one that data
// took, or the one that an acknowledgement echoes. Standard packets name none.
func (h *Headers) VirtualPath() (path uint16, ok bool) {
	switch {
	case !h.Opcode.IsMP():
		return 0, false
	case h.Opcode == MPBit|Acknowledge, h.Opcode == MPProbeAck:
		return h.Ack.Path, true
	case h.Opcode == MPAcknowledgeBatch:
		return h.Batch.Path, true
	}
	return h.MP.Path, true
}
