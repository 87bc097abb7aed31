package pcapng

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTsharkReadsCapture has an independent program read what a Writer wrote and
// verify the checksums.
func TestTsharkReadsCapture(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	name := filepath.Join(t.TempDir(), "test.pcapng")
	writeTestCapture(t, name)

	args := []string{"-r", name, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=|"}
	for _, field := range []string{
		"frame.time_epoch", "frame.packet_flags_direction", "frame.comment",
		"ip.id", "ip.dsfield", "ip.checksum.status", "ipv6.tclass", "udp.srcport", "udp.length", "udp.checksum.status",
	} {
		args = append(args, "-e", field)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tshark, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.Bytes())
	}
	// Of a checksum 1 is good and 3 is none.
	const want = "1700000000.123456789|0x00000001|virtual path 3|0x0105|0x6a|1||49152|13|3\n" +
		"1700000000.123456790|0x00000002|||||0x0000006a|49152|14|1\n"
	if got := string(out); got != want {
		t.Errorf("tshark read\n%swant\n%s", got, want)
	}
}

// writeTestCapture writes one IPv4 and one IPv6 packet.
func writeTestCapture(t *testing.T, name string) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := NewWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	v4 := testDatagram("127.0.0.1:49152", "127.0.0.2:9999")
	v4.TOS, v4.ID = 0x6a, 0x105
	first := &Packet{Time: 1700000000_123456789, Direction: Inbound, Comment: []byte("virtual path 3")}
	v6 := testDatagram("[::1]:49152", "[::2]:9999")
	v6.TOS = 0x6a
	second := &Packet{Time: 1700000000_123456790, Direction: Outbound}
	if first.Data, err = v4.Append(nil, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if second.Data, err = v6.Append(nil, []byte("hello!")); err != nil {
		t.Fatal(err)
	}
	for _, packet := range []*Packet{first, second} {
		if err := w.WritePacket(packet); err != nil {
			t.Fatal(err)
		}
	}
}
