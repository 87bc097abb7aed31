package cm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// TestTsharkDecodes has an independent program read a connection's life, and a
// refusal.
func TestTsharkDecodes(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	var file bytes.Buffer
	// Some ports below 0xc000 belong to protocols that tshark would rather see.
	dev, err := udp.Open(udp.Config{Loopback: true, Paths: 2, FirstSourcePort: 0xc000, Capture: &file})
	must(t, err)
	other, err := udp.Open(udp.Config{Loopback: true, Paths: 2, FirstSourcePort: 0xd000})
	must(t, err)
	// On a busy machine an answer may take its time; the list below has no
	// repetitions.
	patient := Config{Machine: machine.Config{FirstRetry: 10 * time.Second, MaxRetry: 10 * time.Second}}
	a, b := newSideOf(t, dev, patient), newSideOf(t, other, patient)
	ca, cb := connected(t, a, b, verbs.MP, verbs.MP)
	qpn := ca.QP().Number()
	must(t, ca.Close())
	wantEnd(t, cb, ErrPeerClosed)
	if _, err := a.m.Dial(testContext(t), b.dev.Query().Local.String()+":9", a.options(verbs.MP, "")); !errors.Is(err, ErrRefused) {
		t.Errorf("dial: %v", err)
	}
	must(t, a.m.Close())
	must(t, a.dev.Close())

	text := decode(t, tshark, file.Bytes())
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^ +CM (\w+)`).FindAllStringSubmatch(text, -1) {
		// The acknowledgement of the RTU may cross the farewell.
		if m[1] != "MsgRcptAck" {
			names = append(names, m[1])
		}
	}
	want := []string{
		"ConnectRequest", "ConnectReply", "ReadyToUse", "DisconnectRequest", "DisconnectReply",
		"ConnectRequest", "ConnectReject",
	}
	if !slices.Equal(names, want) {
		t.Errorf("tshark sees %q, want %q", names, want)
	}
	for _, part := range []string{
		"Queue Key: 0x0000000080010000",
		fmt.Sprintf("Destination Port: 0x%04x", cb.LocalAddr().Port()),
		fmt.Sprintf("Local QPN: 0x%06x", uint32(qpn)),
		fmt.Sprintf("IP CM Source Port: 0x%04x", ca.LocalAddr().Port()),
		"IP CM Source IP: " + ca.LocalAddr().Addr().String(),
		"IP CM Destination IP: " + cb.LocalAddr().Addr().String(),
		"IP CM IP Version: 0x4", "Path Packet Payload MTU: 0x5", "Reason: 0x0008",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("tshark does not see %q", part)
		}
	}
	for _, trouble := range []string{"Malformed", "Bad ICRC", "incorrect"} {
		if strings.Contains(text, trouble) {
			t.Errorf("tshark complains: %s\n%s", trouble, text)
		}
	}
}

// decode is what tshark has to say of a capture.
func decode(t *testing.T, tshark string, capture []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "cm.pcapng")
	must(t, os.WriteFile(name, capture, 0o600))
	text, err := exec.Command(tshark, "-r", name, "-V").Output()
	must(t, err)
	return string(text)
}
