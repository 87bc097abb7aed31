package wire

import "encoding/binary"

// pcapng blocks, enough of the format to hand whole IP packets to an analyser.
const (
	pcapngSectionHeader  = 0x0a0d0d0a
	pcapngInterface      = 1
	pcapngEnhancedPacket = 6

	linkTypeRaw = 101 // packets start with the IP header
)

// pcapng returns a capture file that holds packets.
func pcapng(packets [][]byte) []byte {
	le := binary.LittleEndian
	section := le.AppendUint32(nil, 0x1a2b3c4d) // byte order
	section = le.AppendUint32(section, 1)       // version 1.0
	section = le.AppendUint64(section, 1<<64-1) // length not given
	file := appendPcapngBlock(nil, pcapngSectionHeader, section)

	device := le.AppendUint32(nil, linkTypeRaw)
	device = le.AppendUint32(device, 0) // no limit to the packet length
	file = appendPcapngBlock(file, pcapngInterface, device)

	for i, packet := range packets {
		record := le.AppendUint32(nil, 0) // first interface
		record = le.AppendUint32(record, 0)
		record = le.AppendUint32(record, uint32(i)) // time in µs
		record = le.AppendUint32(record, uint32(len(packet)))
		record = le.AppendUint32(record, uint32(len(packet)))
		file = appendPcapngBlock(file, pcapngEnhancedPacket, append(record, packet...))
	}
	return file
}

// appendPcapngBlock frames a body, which is padded to four bytes, by its length
// on both sides.
func appendPcapngBlock(file []byte, kind uint32, body []byte) []byte {
	pad := make([]byte, PadLen(len(body)))
	length := uint32(12 + len(body) + len(pad))
	file = binary.LittleEndian.AppendUint32(file, kind)
	file = binary.LittleEndian.AppendUint32(file, length)
	file = append(file, body...)
	file = append(file, pad...)
	return binary.LittleEndian.AppendUint32(file, length)
}
