package sim

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// TestTsharkReadsCapture captures a link while it marks, loses and damages, and
// has an independent program read it.
func TestTsharkReadsCapture(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("SKIPPED: tshark is not installed, so nobody has read the captures")
	}
	for name, qp := range map[string]verbs.QPOptions{"RC": rc, "MP": wired} {
		for mode, cfg := range map[string]Config{"lengths": {}, "verify": {Verify: true}, "wire": {Verify: true, Wire: true}} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				file, sent := captureIncast(t, qp, cfg)
				rows := readByTshark(t, tshark, file)
				checkCapture(t, rows, name == "RC", sent)
			})
		}
	}
}

// captureIncast captures the receiver's link of a small incast and returns the
// file and how many packets the link carried.
func captureIncast(t *testing.T, qp verbs.QPOptions, cfg Config) (file []byte, packets uint64) {
	t.Helper()
	cfg.Seed, cfg.MTU = 1, 1024
	cfg.Switch.Marking = Marking{Kmin: 3_000, Kmax: 3_000, Pmax: 1}
	n := newNetwork(t, star(4, 10*gbps), cfg)
	var out bytes.Buffer
	if err := n.Capture("ha-sw", Both, "incast of three", &out); err != nil {
		t.Fatal(err)
	}
	impair(t, n, 0, "hb-sw", Forth, Impairment{Loss: 0.02})
	traffic := carry(t, n, qp, incast(3, 50_001)...)
	finish(t, n, traffic)
	if err := n.CaptureErr(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), n.Link(0).Packets + n.Link(1).Packets
}

// readByTshark returns the fields of each packet.
func readByTshark(t *testing.T, tshark string, file []byte) (rows [][]string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "capture.pcapng")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", name, "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=|"}
	for _, field := range []string{"frame.time_epoch", "frame.comment", "ip.dsfield.ecn", "ip.dsfield.dscp", "udp.dstport", "infiniband.bth.opcode", "_ws.malformed", "frame.protocols", "ip.checksum.status"} {
		args = append(args, "-e", field)
	}
	text, err := exec.Command(tshark, args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Split(strings.TrimRight(line, "\n"), "|"))
	}
	return rows
}

func checkCapture(t *testing.T, rows [][]string, standard bool, sent uint64) {
	t.Helper()
	if uint64(len(rows)) != sent {
		t.Errorf("%d packets in the capture, the link carried %d", len(rows), sent)
	}
	marked, last := 0, ""
	for i, row := range rows {
		if row[0] < last {
			t.Errorf("packet %d at %s stands behind one at %s", i, row[0], last)
		}
		last = row[0]
		if !strings.HasPrefix(row[1], "path ") || !strings.Contains(row[1], "link ha-sw") || !strings.HasSuffix(row[1], "scenario incast of three") {
			t.Errorf("packet %d has the comment %q", i, row[1])
		}
		switch row[2] {
		case "3":
			marked++
		case "2":
		default:
			t.Errorf("packet %d has the ECN bits %q", i, row[2])
		}
		if row[3] != "24" || row[4] != "4791" || row[8] != "1" {
			t.Errorf("packet %d: DSCP %s, port %s, checksum %s", i, row[3], row[4], row[8])
		}
		if standard && (row[5] == "" || row[6] != "" || !strings.Contains(row[7], "infiniband")) {
			t.Errorf("packet %d: opcode %q, malformed %q, protocols %s", i, row[5], row[6], row[7])
		}
	}
	if marked == 0 {
		t.Error("no packet is marked")
	}
}

// TestCaptureOfOneDirection checks that only what was asked for is written, and
// that the bytes are the same whether packets carry them or not.
func TestCaptureOfOneDirection(t *testing.T) {
	lengths := map[Direction]int{}
	for _, d := range []Direction{Both, Forth, Back} {
		n := newNetwork(t, star(2, 10*gbps), Config{Seed: 1})
		var out bytes.Buffer
		if err := n.Capture("ha-sw", d, "", &out); err != nil {
			t.Fatal(err)
		}
		empty := out.Len()
		finish(t, n, carry(t, n, rc, workload.Flow{Src: 0, Dst: 1, Bytes: 100_000}))
		lengths[d] = out.Len() - empty
	}
	if lengths[Forth] < 100_000 || lengths[Back] == 0 || lengths[Back] > 20_000 || lengths[Both] != lengths[Forth]+lengths[Back] {
		t.Errorf("bytes captured: %v", lengths)
	}
}

// TestCaptureChangesNothing checks that to look is not to touch.
func TestCaptureChangesNothing(t *testing.T) {
	run := func(look bool) FlowResult {
		n := newNetwork(t, star(2, 10*gbps), Config{Seed: 1})
		if look {
			if err := n.Capture("ha-sw", Both, "", &bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
		}
		traffic := carry(t, n, wired, workload.Flow{Src: 0, Dst: 1, Bytes: 100_000})
		finish(t, n, traffic)
		return traffic.Result(0)
	}
	if a, b := run(false), run(true); a.Finished != b.Finished || a.FlowCounts != b.FlowCounts {
		t.Errorf("%+v, with a capture %+v", a, b)
	}
}

// fullDisk takes some writes and then none.
type fullDisk struct{ left int }

var errFull = errors.New("disk full")

func (f *fullDisk) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestCaptureRefusesAndFails(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{Seed: 1})
	if err := n.Capture("sw-ha", Both, "", &bytes.Buffer{}); !errors.Is(err, ErrConfig) {
		t.Errorf("unknown link: %v", err)
	}
	if err := n.Capture("ha-sw", Both, strings.Repeat("x", 121), &bytes.Buffer{}); !errors.Is(err, ErrConfig) {
		t.Errorf("long name: %v", err)
	}
	if err := n.Capture("ha-sw", Both, "", &fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("full at once: %v", err)
	}
	if err := n.Capture("ha-sw", Both, "", &fullDisk{left: 3}); err != nil {
		t.Fatal(err)
	}
	finish(t, n, carry(t, n, rc, workload.Flow{Src: 0, Dst: 1, Bytes: 100_000}))
	if err := n.CaptureErr(); !errors.Is(err, errFull) {
		t.Errorf("full later: %v", err)
	}
	two := newNetwork(t, leafSpine(2, 1, 1), Config{Workers: 2})
	if err := two.Capture("h0-leaf0", Both, "", &bytes.Buffer{}); !errors.Is(err, ErrWorkers) {
		t.Errorf("two workers: %v", err)
	}
}
