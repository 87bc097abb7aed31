package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary play the roles that the command plays.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		exitWith(playRole(role, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// fakeBraid writes a program that answers like braid and returns its path. The
// goodput is far from any real one, so that targets are met or missed for sure.
func fakeBraid(t *testing.T, goodput string) string {
	t.Helper()
	script := `#!/bin/sh
case " $* " in
*" --loopback --json "*) ;;
*) echo "unexpected arguments: $*" >&2; exit 2 ;;
esac
case "$1 $2 $3" in
"perf write bw" | "perf send lat") ;;
*) echo "unexpected test: $*" >&2; exit 2 ;;
esac
echo '{"schema":1,"op":"'"$2"'","metric":"'"$3"'","goodput_gbps":` + goodput + `,"msg_rate_mpps":2.5,"lat_us":{"p50":0.001,"p99":0.002,"p999":0.003}}'
`
	return writeProgram(t, script)
}

func writeProgram(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "braid")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun measures the real peers for a second each, beside a fake braid.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few seconds")
	}
	var out, progress bytes.Buffer
	args := []string{"-sockets", "-rounds", "1", "-seconds", "1", "-json", "-braid", fakeBraid(t, "100000")}
	if err := run(context.Background(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("the report is not JSON: %v\n%s", err, out.String())
	}
	if got.Schema != reportSchema || len(got.Rows) != 7 {
		t.Fatalf("schema %d with %d rows, want %d with 7", got.Schema, len(got.Rows), reportSchema)
	}
	for _, r := range got.Rows {
		if r.Skipped {
			t.Logf("%s: %s", r.Name, r.Problem)
			continue
		}
		if r.Failures != 0 || !(r.Best > 0) {
			t.Errorf("%s: best %v, problem %q", r.Name, r.Best, r.Problem)
		}
		if r.Target != nil && r.Met != nil && !*r.Met {
			t.Errorf("%s: the fake braid is fast enough for every target, ratio %v", r.Name, r.Ratio)
		}
	}
}

func TestMissedTargetFailsOnlyWhenStrict(t *testing.T) {
	missed, bound, ratio := false, 0.8, 0.5
	r := report{Rows: []row{
		{Name: "peer", Samples: []sample{{}}},
		{Name: "ours", ours: true, Samples: []sample{{}}, Target: &bound, TargetIsRatio: true, Ratio: &ratio, Met: &missed},
	}}
	if err := r.verdict(false); err != nil {
		t.Errorf("a missed target failed without -strict: %v", err)
	}
	if err := r.verdict(true); !errors.Is(err, errNotMet) {
		t.Errorf("a missed target passed with -strict: %v", err)
	}
	r.Rows[1].Met = nil
	if err := r.verdict(true); !errors.Is(err, errNotMet) {
		t.Errorf("a target without comparison passed with -strict: %v", err)
	}
	r.Rows[1].Samples = nil
	if err := r.verdict(false); err == nil {
		t.Error("braid was never measured and nobody noticed")
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		args string
		want string // part of the error; empty when the options are good
	}{
		{"", ""},
		{"-rounds 2 -seconds 1 -markdown -strict", ""},
		{"-rounds 0", "-rounds 0"},
		{"-seconds 61", "-seconds 61"},
		{"-json -markdown", "exclude"},
		{"extra", `unexpected argument "extra"`},
		{"-nonsense", "not defined"},
	}
	for _, test := range tests {
		_, err := parseOptions(strings.Fields(test.args), &bytes.Buffer{})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%q: %v", test.args, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%q: error %v, want %q", test.args, err, test.want)
		}
	}
}

func TestFindBraid(t *testing.T) {
	_, _, err := findBraid(context.Background(), options{braid: filepath.Join(t.TempDir(), "absent")})
	if err == nil {
		t.Error("a braid binary that does not exist was accepted")
	}
	_, _, err = findBraid(context.Background(), options{repo: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "build braid") {
		t.Errorf("building from an empty directory: %v", err)
	}
}
