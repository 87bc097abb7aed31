package full

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/lab"
)

// commandLab is the lab of this package's tests.
const commandLab = "braidcmd"

// labUp builds a small lab with the command, or skips the test.
func labUp(t *testing.T) {
	t.Helper()
	code, _, stderr := braid(t, "lab", "up", "--name", commandLab, "--hosts", "1", "--spines", "2")
	if strings.Contains(stderr, lab.ErrPrivilege.Error()) || strings.Contains(stderr, lab.ErrFeature.Error()) {
		t.Skip(stderr)
	}
	if code != cli.ExitOK {
		t.Fatalf("up: exit code %d, %q", code, stderr)
	}
	t.Cleanup(func() { braid(t, "lab", "down", "--name", commandLab) })
}

func TestLabCommands(t *testing.T) {
	labUp(t)
	steps := []struct {
		args string
		code int
		want string // part of what is printed
	}{
		{"up --hosts 1 --spines 2", cli.ExitOK, "10.2.0.2"},
		{"up --hosts 2", cli.ExitFailed, "other options"},
		{"fault cut 1 --direction forward", cli.ExitOK, ""},
		{"fault loss 0 2.5%", cli.ExitOK, ""},
		{"fault rate 0 25mbit", cli.ExitOK, ""},
		{"fault ecn 0 never", cli.ExitOK, ""},
		{"fault flap 1 --period 10ms --for 20ms", cli.ExitOK, ""},
		{"fault cut 1", cli.ExitOK, ""},
		{"fault cut 7", cli.ExitUsage, "use 0 to 1"},
		{"status", cli.ExitOK, "25mbit"},
		{"fault restore 0", cli.ExitOK, ""},
		{"down", cli.ExitOK, ""},
		{"down", cli.ExitOK, ""},
		{"status", cli.ExitFailed, "'braid lab up' builds one"},
	}
	for _, step := range steps {
		code, stdout, stderr := braid(t, append(strings.Fields("lab "+step.args), "--name", commandLab)...)
		if code != step.code || !strings.Contains(stdout+stderr, step.want) {
			t.Errorf("%s: exit code %d, %q, %q; want %d and %q", step.args, code, stdout, stderr, step.code, step.want)
		}
		if step.args == "status" && code == cli.ExitOK {
			for _, want := range []string{"never", "2.5%", "cut", "forward", "backward"} {
				if !strings.Contains(stdout, want) {
					t.Errorf("status does not say %q:\n%s", want, stdout)
				}
			}
		}
	}
}

func TestLabStatusAsJSON(t *testing.T) {
	labUp(t)
	code, stdout, stderr := braid(t, "lab", "status", "--name", commandLab, "--json")
	var status struct {
		Schema  int
		Options lab.Options
		Paths   []lab.PathStatus
	}
	if err := json.Unmarshal([]byte(stdout), &status); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %q, %v", code, stderr, err)
	}
	if status.Schema != 1 || status.Options.Name != commandLab || len(status.Paths) != 2 || status.Paths[1].Rate != 1e9 {
		t.Errorf("%+v", status)
	}
}

// TestLabExec becomes another program, so it needs a process of its own.
func TestLabExec(t *testing.T) {
	labUp(t)
	command := func(args ...string) (string, error) {
		cmd := exec.Command("/proc/self/exe", append([]string{"lab", "exec", "--name", commandLab}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Setenv(asCommand, "1")
	if out, err := command("h0", "--", "sh", "-c", "cat /proc/net/fib_trie; exit 3"); err == nil || !strings.Contains(out, "10.1.0.2") {
		t.Errorf("%v, %q; want exit status 3 and the host's address", err, out)
	}
	if out, err := command("h7", "--", "true"); err == nil || !strings.Contains(out, "no such part") {
		t.Errorf("%v, %q", err, out)
	}
}
