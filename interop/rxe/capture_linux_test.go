package rxe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/interop/pingpong"
)

// Every packet of one run of each program, and of everything that verbsd does,
// carries the right ICRC in both directions, and Wireshark finds nothing wrong.
func TestCapture(t *testing.T) {
	runs := map[string]func(t *testing.T){
		"all operations": func(t *testing.T) {
			c := newCouple(t, coupleOptions{mtu: 1024})
			for i, o := range operations {
				o.check(c, 5000, byte(i))
			}
		},
	}
	for _, program := range []pingpong.Program{pingpong.RC, pingpong.UD, pingpong.SRQ} {
		runs[string(program)] = func(t *testing.T) {
			playPingpong(t, openDevice(t), pingpong.Config{Program: program, Size: 2000, MTU: 2048, Iterations: 50, QPs: 2, AckTimeout: longTimeout}, true)
		}
	}
	for _, c := range perftestCases {
		runs[c.program()] = func(t *testing.T) { perftestClient(t, c) }
	}
	runs["rping"] = func(t *testing.T) { rpingServer(t, 1000) }
	runs["rdma_client"], runs["rdma_server"] = TestRdmaClient, TestRdmaServer
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			tap := newWireTap(t)
			run(t)
			checkCapture(t, tap)
		})
	}
}

// checkCapture demands that all that was seen is right.
func checkCapture(t *testing.T, tap *wireTap) {
	t.Helper()
	counts, file := tap.stop(t)
	if counts.toKernel == 0 || counts.toBraid == 0 {
		t.Errorf("no packets in a direction: %+v", counts)
	}
	if counts.badToKernel+counts.badToBraid > 0 {
		t.Errorf("packets with a wrong ICRC: %+v", counts)
	}
	if counts.missed > 0 {
		t.Errorf("packets escaped: %+v", counts)
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Log("tshark is missing (Debian: tshark): the packets were not shown to it")
		return
	}
	wantDissected(t, tshark, file, counts.toKernel+counts.toBraid)
}

// tsharkFields are what tshark is asked for.
var tsharkFields = []string{"_ws.malformed", "ip.checksum.status", "infiniband.bth.opcode", "infiniband.invariant.crc"}

// wantDissected lets tshark decode a capture: all packets must be of InfiniBand
// and whole.
func wantDissected(t *testing.T, tshark string, file []byte, packets int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.pcapng")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", name, "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}
	for _, field := range tsharkFields {
		args = append(args, "-e", field)
	}
	var complaints bytes.Buffer
	cmd := exec.Command(tshark, args...)
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, complaints.Bytes())
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if len(lines) != packets {
		t.Errorf("tshark decoded %d packets of %d", len(lines), packets)
	}
	for i, line := range lines {
		f := strings.Split(line, "|")
		// Of a checksum, 1 is good.
		if len(f) != len(tsharkFields) || f[0] != "" || f[1] != "1" || f[2] == "" || f[3] == "" {
			t.Fatalf("packet %d: tshark says %q of %v", i+1, line, tsharkFields)
		}
	}
}
