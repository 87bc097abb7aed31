package pcapng

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"testing"
)

func testDatagram(src, dst string) *Datagram {
	return &Datagram{Src: netip.MustParseAddrPort(src), Dst: netip.MustParseAddrPort(dst)}
}

func TestHeadersOfDatagrams(t *testing.T) {
	tests := []struct {
		name     string
		src, dst string
		tos      byte
		id       uint16
		payload  int
		want     string // headers
	}{
		{
			"IPv4", "192.168.0.1:49152", "192.168.0.199:4791", 0, 0, 87,
			"4500 0073 0000 4000 4011 b861 c0a80001 c0a800c7  c000 12b7 005f 0000",
		},
		{
			"IPv4 with class and id", "192.168.0.1:49152", "192.168.0.199:4791", 0x6a, 0x0102, 87,
			"456a 0073 0102 4000 4011 b6f5 c0a80001 c0a800c7  c000 12b7 005f 0000",
		},
		{
			"IPv4-mapped", "[::ffff:192.168.0.1]:49152", "192.168.0.199:4791", 0, 0, 87,
			"4500 0073 0000 4000 4011 b861 c0a80001 c0a800c7  c000 12b7 005f 0000",
		},
		// The words 1+2, the protocol 17, twice the length 10, the ports and the
		// payload 0000 add up to 0xd2df.
		{
			"IPv6", "[::1]:49152", "[::2]:4791", 0x6a, 7, 2,
			"66a0 0000 000a 11 40 00000000000000000000000000000001 00000000000000000000000000000002  c000 12b7 000a 2d20",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := testDatagram(test.src, test.dst)
			d.TOS, d.ID = test.tos, test.id
			payload := make([]byte, test.payload)
			got, err := d.Append([]byte("before"), payload)
			if err != nil {
				t.Fatal(err)
			}
			want := append(append([]byte("before"), unhex(t, test.want)...), payload...)
			if !bytes.Equal(got, want) {
				t.Errorf("got  %x\nwant %x", got, want)
			}
		})
	}
}

// TestIPv6ChecksumVerifies adds up what a receiver adds up. The sum over the
// pseudo header and the datagram with its checksum must be all ones.
func TestIPv6ChecksumVerifies(t *testing.T) {
	d := testDatagram("[2001:db8::ff:1]:50000", "[fe80::1234%1]:4791")
	for size := range 300 {
		payload := make([]byte, size)
		for i := range payload {
			payload[i] = byte(size*37 + i*91)
		}
		cut := size / 3 // odd or even
		packet, err := d.Append(nil, payload[:cut], nil, payload[cut:])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(packet[ipv6Len+udpLen:], payload) {
			t.Fatalf("%d bytes in pieces: wrong payload", size)
		}
		words := append(bytes.Clone(packet[8:]), 0, 0)
		sum := uint32(udpLen+size) + 17
		for i := 0; i+1 < len(words); i += 2 {
			sum += uint32(words[i])<<8 | uint32(words[i+1])
		}
		if sum = sum>>16 + sum&0xffff; sum>>16+sum&0xffff != 0xffff {
			t.Errorf("%d bytes: the sum is %#x", size, sum)
		}
	}
}

// TestIPv6ChecksumIsNeverZero makes the one payload whose checksum comes out as
// 0, which would mean that there is none.
func TestIPv6ChecksumIsNeverZero(t *testing.T) {
	d := testDatagram("[::1]:49152", "[::2]:4791")
	plain, err := d.Append(nil, []byte{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	packet, err := d.Append(nil, plain[ipv6Len+6:ipv6Len+8])
	if err != nil {
		t.Fatal(err)
	}
	if sum := binary.BigEndian.Uint16(packet[ipv6Len+6:]); sum != 0xffff {
		t.Errorf("the checksum is %#x", sum)
	}
}

func TestRefusedDatagrams(t *testing.T) {
	const v4, v6 = "127.0.0.1:1", "[::1]:1"
	tests := []struct {
		src, dst string
		size     int
		want     error
	}{
		{v4, v4, 65507, nil},
		{v4, v4, 65508, ErrTooLong},
		{v6, v6, 65527, nil},
		{v6, v6, 65528, ErrTooLong},
		{v4, v6, 1, ErrFamily},
		{v6, v4, 1, ErrFamily},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s to %s, %d bytes", test.src, test.dst, test.size), func(t *testing.T) {
			packet, err := testDatagram(test.src, test.dst).Append(nil, make([]byte, test.size))
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if err != nil && len(packet) != 0 {
				t.Errorf("%d bytes were appended", len(packet))
			}
			if len(packet) > MaxPacket {
				t.Errorf("%d bytes exceed MaxPacket", len(packet))
			}
		})
	}
	if _, err := new(Datagram).Append(nil, nil); !errors.Is(err, ErrFamily) {
		t.Errorf("without addresses: %v", err)
	}
}
