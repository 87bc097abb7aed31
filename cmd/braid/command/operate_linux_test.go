package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/operate"
)

// `braid why` tells of the programs that run, for people and for programs.
func TestWhy(t *testing.T) {
	statDir(t)
	if code, _, stderr := braid(t, "why", "--for", "10ms"); code != cli.ExitFailed || !strings.Contains(stderr, "no program") {
		t.Errorf("nobody is there: %d, %s", code, stderr)
	}
	statTraffic(t)
	code, stdout, stderr := braid(t, "why", "--for", "100ms", "--all")
	if code != cli.ExitOK || stderr != "" || strings.Count(stdout, "queue pairs, looked at") != 2 || !strings.Contains(stdout, "channel 0 with 127.") {
		t.Errorf("%d, %s\n%s", code, stderr, stdout)
	}
	code, stdout, stderr = braid(t, "why", "--for", "100ms", "--json", fmt.Sprintf("%d/0", os.Getpid()))
	var report whyReport
	if err := json.Unmarshal([]byte(stdout), &report); code != cli.ExitOK || err != nil {
		t.Fatalf("%d, %v, %s", code, err, stderr)
	}
	if report.Schema != 1 || len(report.Programs) != 2 {
		t.Fatalf("%+v", report)
	}
	for _, p := range report.Programs {
		if e := p.Evidence; e.Samples == 0 || len(e.QueuePairs) != 1 || e.QueuePairs[0].Channel == nil || len(e.QueuePairs[0].Reasons) == 0 || len(p.Findings) == 0 {
			t.Errorf("%+v: %+v", e, p.Findings)
		}
	}
	code, _, stderr = braid(t, "why", "--for", "10ms", fmt.Sprintf("%d/999", os.Getpid()))
	if code != cli.ExitFailed || !strings.Contains(stderr, "no such queue pair or channel") || strings.Contains(stderr, "no program") {
		t.Errorf("a channel that is not there: %d, %s", code, stderr)
	}
	if code, _, stderr = braid(t, "why", "--for", "10ms", "999999999"); code != cli.ExitFailed || !strings.Contains(stderr, "no such program") {
		t.Errorf("a process that is not there: %d, %s", code, stderr)
	}
}

func TestWhyBadArguments(t *testing.T) {
	for _, args := range [][]string{
		{"0"}, {"12/"}, {"12/x"}, {"12/0xfffffff"}, {"12/-1"}, {"--for", "1ms"}, {"--for", "2h"}, {"--label", "rack"},
	} {
		if code, _, stderr := braid(t, append([]string{"why"}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// `braid adm` shows parameters, changes them in all programs or none, and goes back.
func TestAdm(t *testing.T) {
	statDir(t)
	statTraffic(t)
	adm := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := braid(t, append([]string{"adm"}, args...)...)
		if code != want {
			t.Errorf("adm %v: exit code %d, %s", args, code, stderr)
		}
		return stdout, stderr
	}
	if out, _ := adm(cli.ExitOK, "show"); !strings.Contains(out, "keepalive") || !strings.Contains(out, "10s") {
		t.Errorf("show: %s", out)
	}
	if _, complaint := adm(cli.ExitFailed, "set", "keepalive=7s", "window=3", "--all"); !strings.Contains(complaint, "nothing is changed") {
		t.Errorf("a bad change: %s", complaint)
	}
	if out, _ := adm(cli.ExitOK, "set", "keepalive=7s", "--all", "--dry-run"); !strings.Contains(out, "2 programs would take it") {
		t.Errorf("a dry run: %s", out)
	}
	if out, _ := adm(cli.ExitOK, "show"); strings.Contains(out, "7s") {
		t.Errorf("something was changed: %s", out)
	}
	adm(cli.ExitOK, "set", "keepalive=7s", "linger=1s", "--all", "--canary", "1", "--watch-for", "50ms")
	out, _ := adm(cli.ExitOK, "history", "--json")
	var report admReport[[]operate.Change]
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Programs) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, p := range report.Programs {
		if len(p.Result) != 1 || p.Result[0].After["keepalive"] != "7s" || p.Result[0].Before["linger"] != "5s" || p.Result[0].By == "" {
			t.Errorf("%+v", p)
		}
	}
	adm(cli.ExitUsage, "rollback")
	adm(cli.ExitOK, "rollback", fmt.Sprint(os.Getpid()))
	if out, _ := adm(cli.ExitOK, "show"); strings.Contains(out, "7s") || !strings.Contains(out, "10s") {
		t.Errorf("after the roll-back: %s", out)
	}
	for _, args := range [][]string{
		{"set"}, {"set", "keepalive=7s"}, {"set", "--all"}, {"set", "a=1", "a=2", "--all"}, {"set", "a=1", "--all", "--canary", "-1"}, {"dance"},
	} {
		adm(cli.ExitUsage, args...)
	}
}

// What is undone is the change that was made, though somebody has changed something else meanwhile.
func TestAdmUndoesItsOwnChange(t *testing.T) {
	statDir(t)
	statTraffic(t)
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	programs, err := (&programs{}).connect(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer closePrograms(programs)
	f := admSetFlags{values: map[string]string{"keepalive": "7s"}}
	changes, err := f.setOrUndo(t.Context(), programs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if _, err := p.Set(t.Context(), map[string]string{"linger": "1s"}, "bob", false); err != nil {
			t.Fatal(err)
		}
	}
	if err := undo(t.Context(), programs, changes); err != nil {
		t.Error(err)
	}
	for _, p := range programs {
		all, err := p.Parameters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, parameter := range all {
			if want, ok := map[string]string{"keepalive": "10s", "linger": "1s"}[parameter.Name]; ok && parameter.Value != want {
				t.Errorf("%v: %s is %s, want %s", &p.Identity, parameter.Name, parameter.Value, want)
			}
		}
	}
}

// A command that is interrupted while a program obeys undoes that as well.
func TestAdmInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var asked []string
	program := func(pid int, obeying func()) *operate.Program {
		return operate.Remote(operate.Identity{PID: pid}, func(ctx context.Context, line []byte) ([]byte, error) {
			var q struct{ Do string }
			if err := json.Unmarshal(line, &q); err != nil {
				return nil, err
			}
			asked = append(asked, fmt.Sprintf("%s %d", q.Do, pid))
			obeying()
			return []byte(`{"result":{"number":1}}`), ctx.Err()
		})
	}
	programs := []*operate.Program{program(1, func() {}), program(2, interrupt), program(3, func() {})}
	f := admSetFlags{values: map[string]string{"keepalive": "7s"}}
	if changes, err := f.setOrUndo(ctx, programs); !errors.Is(err, context.Canceled) || len(changes) != 0 {
		t.Errorf("%+v, %v", changes, err)
	}
	if want := []string{"set 1", "set 2", "rollback 1", "rollback 2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

// Programs that wait for their channels to move are all rolled back, however many there are.
func TestAdmUndoesSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var programs []*operate.Program
		var changes []ofProgram[*operate.Change]
		undone := 0
		for range 3 {
			programs = append(programs, operate.Remote(operate.Identity{}, func(ctx context.Context, _ []byte) ([]byte, error) {
				select {
				case <-time.After(5 * time.Second):
					undone++
					return []byte(`{"result":{}}`), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}))
			changes = append(changes, ofProgram[*operate.Change]{Result: &operate.Change{Number: 1}})
		}
		if err := undo(t.Context(), programs, changes); err != nil || undone != len(programs) {
			t.Errorf("%d are rolled back: %v", undone, err)
		}
	})
}

// `braid stat --qp` shows devices, queue pairs and paths.
func TestStatQueuePairs(t *testing.T) {
	statDir(t)
	if code, _, stderr := braid(t, "stat", "--qp", "--interval", "0"); code != cli.ExitFailed || !strings.Contains(stderr, "no program") {
		t.Errorf("nobody is there: %d, %s", code, stderr)
	}
	statTraffic(t)
	code, stdout, stderr := braid(t, "stat", "--paths", "--interval", "50ms")
	if code != cli.ExitOK || stderr != "" || strings.Count(stdout, "device [127.") != 2 || !strings.Contains(stdout, "in use") || !strings.Contains(stdout, "RTS") {
		t.Errorf("%d, %s\n%s", code, stderr, stdout)
	}
	code, stdout, stderr = braid(t, "stat", "--qp", "--interval", "0", "--json")
	var report devicesJSON
	if err := json.Unmarshal([]byte(stdout), &report); code != cli.ExitOK || err != nil || len(report.Devices) != 2 {
		t.Fatalf("%d, %v, %s", code, err, stderr)
	}
	for _, d := range report.Devices {
		if len(d.QueuePairs) == 0 || d.MRs == 0 || len(d.Counters) == 0 {
			t.Errorf("%+v", d)
		}
		for _, q := range d.QueuePairs {
			if q.Type == "MP" && q.State == "RTS" && (q.Counters["tx_packets"] == 0 || len(q.Paths) == 0 || q.Blocked == "") {
				t.Errorf("%+v", q)
			}
		}
	}
}
