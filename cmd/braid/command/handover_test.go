package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

// everyday runs the everyday command as a process of its own, with some variables, since another program may take its place.
func everyday(t *testing.T, variables []string, args ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), variables...)
	text, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// TestHandOver checks that what the everyday command does not have is done by the full one, with the same arguments and exit code, and
// what it has is not. The full one is this test, which prints its arguments and ends with 7.
func TestHandOver(t *testing.T) {
	full := []string{fullVariable + "=" + os.Args[0]}
	for _, line := range []string{
		"sim run quickstart --json", "sim --help", "lab", "agent --monitor 10.0.0.1:7480", "monitor --dir x", "man /tmp/x", "help sim",
		"ping --mesh --json", "demo --monitor", "why db3", "stat db3 --paths", "adm show --host *",
	} {
		if code, text := everyday(t, full, strings.Fields(line)...); code != 7 || text != "["+line+"]\n" {
			t.Errorf("%s: exit code %d, %s", line, code, text)
		}
	}
	for _, line := range []string{"version", "perf --help", "adm --help", "--help"} {
		if code, text := everyday(t, full, strings.Fields(line)...); code != cli.ExitOK {
			t.Errorf("%s: exit code %d, %s", line, code, text)
		}
	}
}

// TestFullIsFound checks where the full command is looked for, and what is said where it is not.
func TestFullIsFound(t *testing.T) {
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(dir, fullName)); err != nil {
		t.Fatal(err)
	}
	if code, text := everyday(t, []string{"PATH=" + dir}, "sim"); code != 7 {
		t.Errorf("on the PATH: exit code %d, %s", code, text)
	}
	for _, test := range []struct {
		variables []string
		want      string
	}{
		{[]string{"PATH=" + t.TempDir()}, "cannot be built here"},
		{[]string{fullVariable + "=/nowhere/braid-full"}, "/nowhere/braid-full"},
	} {
		if code, text := everyday(t, test.variables, "sim"); code != cli.ExitFailed || !strings.Contains(text, test.want) {
			t.Errorf("%q: exit code %d, %s", test.variables, code, text)
		}
	}
}

// TestTreeOfOthers checks that what another user has put where this program was once built is not built and run, unless one has gone there.
func TestTreeOfOthers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if trusted(file) {
		t.Error("a file that is not there is trusted")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !trusted(file) {
		t.Error("an own file is not trusted")
	}
	if err := os.Chown(file, 12345, -1); err != nil {
		t.Skipf("SKIPPED: %s: giving a file away needs root", t.Name())
	}
	if trusted(file) {
		t.Error("a file of another user is trusted")
	}
	t.Chdir(dir)
	if !trusted(file) {
		t.Error("a file in the present directory is not trusted")
	}
}

// TestTreeIsOurs checks that a program that does not know its own tree builds none that others have made, wherever it is run.
func TestTreeIsOurs(t *testing.T) {
	tree := t.TempDir()
	if err := os.MkdirAll(filepath.Join(tree, fullPackage), 0o700); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(tree, fullPackage, "main.go")
	for _, file := range []string{main, filepath.Join(tree, "go.mod")} {
		if ours(tree) {
			t.Errorf("a tree without %s is ours", file)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !ours(tree) {
		t.Error("an own tree is not ours")
	}
	for _, stranger := range []string{filepath.Join(tree, "go.mod"), main, filepath.Dir(main), tree} {
		if err := os.Chown(stranger, 12345, -1); err != nil {
			t.Skipf("SKIPPED: %s: giving a file away needs root", t.Name())
		}
		if ours(tree) {
			t.Errorf("a tree is ours of which another user has %s", stranger)
		}
		if err := os.Chown(stranger, os.Getuid(), -1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOldOnesAreForgotten checks that what was built and is not used any more does not stay for ever.
func TestOldOnesAreForgotten(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"full-old", "full-new", "interop"} {
		dir := filepath.Join(cache, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		free, err := alone(filepath.Join(dir, fullLock))
		if err != nil {
			t.Fatal(err)
		}
		free()
	}
	begun := time.Now().Add(-keptFor)
	long := begun.Add(-time.Hour)
	for _, name := range []string{"full-old", "interop"} {
		if err := os.Chtimes(filepath.Join(cache, name, fullLock), long, long); err != nil {
			t.Fatal(err)
		}
	}
	forget(cache, begun)
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "full-new" || filepath.Base(left[1]) != "interop" {
		t.Errorf("%q are left, %v", left, err)
	}
}

// TestOthersAreCompleted checks that words of the other commands are completed where the full one is there, and nothing is built otherwise.
func TestOthersAreCompleted(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, fullName)
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$*\"; echo :4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	code, text := everyday(t, []string{fullVariable + "=" + script}, "__complete", "sim", "run", "qui")
	if code != cli.ExitOK || !strings.HasPrefix(text, "__complete sim run qui\n:4") {
		t.Errorf("exit code %d, %q", code, text)
	}
	if code, text := everyday(t, []string{"PATH="}, "__complete", "sim", ""); code != cli.ExitOK || !strings.HasPrefix(text, ":") {
		t.Errorf("exit code %d, %q", code, text)
	}
}

// TestEverydayIsSmall checks that the everyday command has stayed what can be built and started in little time: with what a debugger
// wants to know, which is a third of it, it may have 25 MiB.
func TestEverydayIsSmall(t *testing.T) {
	const most = 15 << 20
	program := filepath.Join(t.TempDir(), "braid")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", program, "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("it has %d bytes, %d at most were wanted", info.Size(), most)
	}
	t.Logf("%d bytes", info.Size())
}
