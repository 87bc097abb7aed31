package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBetweenTwoHosts runs the program in two network namespaces that a cable
// (veth) connects, by IPv4, by IPv6 and by the link-local address with its zone.
func TestBetweenTwoHosts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: TestBetweenTwoHosts needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: TestBetweenTwoHosts needs the program ip of iproute2")
	}
	program := filepath.Join(t.TempDir(), "hello")
	run(t, "go", "build", "-o", program, ".")
	left, right := newHosts(t)
	// The way back from 10.78.0.1 has another source address by the server's routes.
	run(t, "ip", "-n", left, "addr", "add", "10.78.0.1/32", "dev", "lo")
	run(t, "ip", "-n", right, "route", "add", "10.78.0.1", "via", "10.77.0.1")
	for _, peer := range []string{"10.77.0.1", "10.78.0.1", "fd77::1", "fe80::77:1%cable"} {
		t.Run(peer, func(t *testing.T) { converse(t, within(left, program), within(right, program), peer) })
	}
	t.Run("one host", func(t *testing.T) { converse(t, within(left, program), within(left, program), "10.77.0.1") })
	t.Run("localhost", func(t *testing.T) { converse(t, within(left, program), within(left, program), "127.0.0.1") })
}

// TestOnOneHost runs both sides on this host, which needs no privilege: the client
// dials the first address at which the server says that it listens.
func TestOnOneHost(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hello")
	run(t, "go", "build", "-o", program, ".")
	converse(t, []string{program}, []string{program}, "")
}

// within is the command that runs the program in a namespace.
func within(host, program string) []string {
	return []string{"ip", "netns", "exec", host, program}
}

// converse lets a client write to a server, which is at the address peer, or if that
// is empty where it says.
func converse(t *testing.T, serve, dial []string, peer string) {
	t.Helper()
	server := exec.Command(serve[0], serve[1:]...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "listening at") {
		t.Fatalf("the server says %q, want where it listens", lines.Text())
	}
	t.Log(lines.Text())
	if peer == "" {
		peer = regexp.MustCompile(`[0-9a-f.:]+[0-9]`).FindString(lines.Text()[len("listening at"):])
	}
	run(t, dial[0], append(dial[1:], peer)...)
	if !lines.Scan() || !strings.HasSuffix(lines.Text(), `wrote "hello"`) {
		t.Fatalf("the server says %q, want what was written", lines.Text())
	}
	t.Log(lines.Text())
}

// newHosts makes two namespaces and connects them.
func newHosts(t *testing.T) (left, right string) {
	left, right = fmt.Sprintf("braid-%d-l", os.Getpid()), fmt.Sprintf("braid-%d-r", os.Getpid())
	for _, name := range []string{left, right} {
		run(t, "ip", "netns", "add", name)
		t.Cleanup(func() { run(t, "ip", "netns", "del", name) })
	}
	run(t, "ip", "link", "add", "cable", "netns", left, "type", "veth", "peer", "name", "cable", "netns", right)
	for _, name := range []string{left, right} {
		run(t, "ip", "-n", name, "link", "set", "lo", "up")
		run(t, "ip", "-n", name, "link", "set", "cable", "up")
	}
	for i, name := range []string{left, right} {
		run(t, "ip", "-n", name, "addr", "add", fmt.Sprintf("10.77.0.%d/24", i+1), "dev", "cable")
		// Without duplicate address detection the addresses can be used at once.
		run(t, "ip", "-n", name, "addr", "add", fmt.Sprintf("fd77::%d/64", i+1), "dev", "cable", "nodad")
		run(t, "ip", "-n", name, "addr", "add", fmt.Sprintf("fe80::77:%d/64", i+1), "dev", "cable", "nodad")
	}
	return left, right
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
