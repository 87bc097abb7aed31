package wire

import "fmt"

// opFlags are the yes-or-no properties of an opcode.
type opFlags uint16

const (
	opValid opFlags = 1 << iota
	opStarts
	opEnds
	opRequest
	opPayload
	opSend
	opWrite
	opReadResponse
	opAtomicRequest

	opWhole = opStarts | opEnds
)

// extSet says which extension headers follow BTH. They stand on the wire in the
// order of these bits, lowest first.
type extSet uint16

const (
	extMPData extSet = 1 << iota
	extDETH
	extRETH
	extAtomicETH
	extAETH
	extAtomicAck
	extImm
	extIETH
	extMPAck
	extMPAckBatch
	extCNP
)

var extLens = map[extSet]int{
	extMPData: MPDataLen, extDETH: DETHLen, extRETH: RETHLen,
	extAtomicETH: AtomicETHLen, extAETH: AETHLen, extAtomicAck: AtomicAckETHLen,
	extImm: ImmDtLen, extIETH: IETHLen, extMPAck: MPAckLen,
	extMPAckBatch: MPAckBatchLen, extCNP: cnpReservedLen,
}

// opcodeInfo is what the packet path needs to know about one opcode. The path
// asks for every packet, hence an array indexed by the opcode.
type opcodeInfo struct {
	flags     opFlags
	ext       extSet
	headerLen uint8 // BTH and extensions
}

func (i *opcodeInfo) is(f opFlags) bool { return i.flags&f != 0 }

// connected lists the operations of the two connected services. An MP packet
// differs from its RC twin in three ways: it carries MPData; every WRITE packet
// carries its own address, since it may arrive first (MP-RDMA §3.1); and answers
// carry no AETH, which reports progress in order and is left to acknowledgements.
var connected = []struct {
	op     Opcode
	name   string
	flags  opFlags
	rc, mp extSet
}{
	{SendFirst, "SEND_FIRST", opRequest | opSend | opPayload | opStarts, 0, extMPData},
	{SendMiddle, "SEND_MIDDLE", opRequest | opSend | opPayload, 0, extMPData},
	{SendLast, "SEND_LAST", opRequest | opSend | opPayload | opEnds, 0, extMPData},
	{SendLastImm, "SEND_LAST_IMM", opRequest | opSend | opPayload | opEnds, extImm, extMPData | extImm},
	{SendOnly, "SEND_ONLY", opRequest | opSend | opPayload | opWhole, 0, extMPData},
	{SendOnlyImm, "SEND_ONLY_IMM", opRequest | opSend | opPayload | opWhole, extImm, extMPData | extImm},
	{SendLastInv, "SEND_LAST_INV", opRequest | opSend | opPayload | opEnds, extIETH, extMPData | extIETH},
	{SendOnlyInv, "SEND_ONLY_INV", opRequest | opSend | opPayload | opWhole, extIETH, extMPData | extIETH},

	{WriteFirst, "WRITE_FIRST", opRequest | opWrite | opPayload | opStarts, extRETH, extMPData | extRETH},
	{WriteMiddle, "WRITE_MIDDLE", opRequest | opWrite | opPayload, 0, extMPData | extRETH},
	{WriteLast, "WRITE_LAST", opRequest | opWrite | opPayload | opEnds, 0, extMPData | extRETH},
	{WriteLastImm, "WRITE_LAST_IMM", opRequest | opWrite | opPayload | opEnds, extImm, extMPData | extRETH | extImm},
	{WriteOnly, "WRITE_ONLY", opRequest | opWrite | opPayload | opWhole, extRETH, extMPData | extRETH},
	{WriteOnlyImm, "WRITE_ONLY_IMM", opRequest | opWrite | opPayload | opWhole, extRETH | extImm, extMPData | extRETH | extImm},

	{ReadRequest, "READ_REQUEST", opRequest | opWhole, extRETH, extMPData | extRETH},
	{ReadResponseFirst, "READ_RESPONSE_FIRST", opReadResponse | opPayload | opStarts, extAETH, extMPData},
	{ReadResponseMiddle, "READ_RESPONSE_MIDDLE", opReadResponse | opPayload, 0, extMPData},
	{ReadResponseLast, "READ_RESPONSE_LAST", opReadResponse | opPayload | opEnds, extAETH, extMPData},
	{ReadResponseOnly, "READ_RESPONSE_ONLY", opReadResponse | opPayload | opWhole, extAETH, extMPData},

	{CompareSwap, "COMPARE_SWAP", opRequest | opAtomicRequest | opWhole, extAtomicETH, extMPData | extAtomicETH},
	{FetchAdd, "FETCH_ADD", opRequest | opAtomicRequest | opWhole, extAtomicETH, extMPData | extAtomicETH},
	{AtomicAcknowledge, "ATOMIC_ACKNOWLEDGE", opWhole, extAETH | extAtomicAck, extMPData | extAtomicAck},
	{Acknowledge, "ACKNOWLEDGE", 0, extAETH, extAETH | extMPAck},
}

// others lists the opcodes that exist in one service only.
var others = []struct {
	op    Opcode
	name  string
	flags opFlags
	ext   extSet
}{
	{MPAcknowledgeBatch, "MP_ACK_BATCH", 0, extAETH | extMPAckBatch},
	{MPProbe, "MP_PROBE", opRequest, extMPData},
	{MPProbeAck, "MP_PROBE_ACK", 0, extAETH | extMPAck},
	{NetworkProbe, "NETWORK_PROBE", opPayload, 0},
	{UDSendOnly, "UD_SEND_ONLY", opRequest | opSend | opPayload | opWhole, extDETH},
	{UDSendOnlyImm, "UD_SEND_ONLY_IMM", opRequest | opSend | opPayload | opWhole, extDETH | extImm},
	{CNP, "CNP", 0, extCNP},
}

var opcodes, opcodeNames = buildOpcodeTables()

func buildOpcodeTables() (infos [256]opcodeInfo, names [256]string) {
	for op := range infos {
		infos[op].headerLen = BTHLen
		names[op] = fmt.Sprintf("OPCODE_0x%02x", op)
	}
	add := func(op Opcode, name string, flags opFlags, ext extSet) {
		n := BTHLen
		for header, size := range extLens {
			if ext&header != 0 {
				n += size
			}
		}
		infos[op] = opcodeInfo{flags: flags | opValid, ext: ext, headerLen: uint8(n)}
		names[op] = name
	}
	for _, c := range connected {
		add(c.op, "RC_"+c.name, c.flags, c.rc)
		add(c.op|MPBit, "MP_"+c.name, c.flags, c.mp)
	}
	for _, o := range others {
		add(o.op, o.name, o.flags, o.ext)
	}
	return infos, names
}
