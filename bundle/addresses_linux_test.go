package bundle

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// addressesEnv makes this test program one of the hosts of TestAddresses: "listen", or
// what the listener says of itself.
const addressesEnv = "BRAID_BUNDLE_ADDRESSES"

// TestAddresses: two hosts with two cables, and no way from one to the other. A connection
// uses both pairs of addresses; when a cable is cut all goes on over the other, also what
// was under way, and when it is back both are used again.
func TestAddresses(t *testing.T) {
	switch role := os.Getenv(addressesEnv); role {
	case "":
	case "listen":
		addressesListener(t)
		return
	default:
		addressesDialer(t, role)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: TestAddresses needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: TestAddresses needs the program ip of iproute2")
	}
	hosts := twoCables(t)
	listener := inHost(hosts[0], addressesEnv+"=listen")
	out, err := listener.StdoutPipe()
	must(t, err)
	must(t, listener.Start())
	t.Cleanup(func() {
		_ = listener.Process.Kill()
		_ = listener.Wait()
	})
	b := make([]byte, 200)
	n, err := out.Read(b)
	must(t, err)
	_, said, found := strings.Cut(string(b[:n]), "at ")
	if !found {
		t.Fatalf("the listener says %q", b[:n])
	}
	dialer := inHost(hosts[1], addressesEnv+"="+strings.TrimSpace(said))
	var result bytes.Buffer
	dialer.Stdout, dialer.Stderr = &result, &result
	if err := dialer.Run(); err != nil {
		t.Fatalf("the dialer: %v\n%s", err, result.String())
	}
}

// twoCables makes two namespaces with the addresses 10.91.c.1 and 10.91.c.2 on cable c.
func twoCables(t *testing.T) (hosts [2]string) {
	t.Helper()
	for i := range hosts {
		hosts[i] = fmt.Sprintf("braid-bundle-%d-%d", os.Getpid(), i)
		ip(t, "netns", "add", hosts[i])
		t.Cleanup(func() { ip(t, "netns", "del", hosts[i]) })
		ip(t, "-n", hosts[i], "link", "set", "lo", "up")
	}
	for c := range 2 {
		cable := fmt.Sprint("cable", c)
		ip(t, "link", "add", cable, "netns", hosts[0], "type", "veth", "peer", "name", cable, "netns", hosts[1])
		for i, host := range hosts {
			ip(t, "-n", host, "addr", "add", fmt.Sprintf("10.91.%d.%d/24", c, i+1), "dev", cable)
			ip(t, "-n", host, "link", "set", cable, "up")
		}
	}
	return hosts
}

func ip(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// inHost is this test program in a namespace.
func inHost(host, env string) *exec.Cmd {
	cmd := exec.Command("ip", "netns", "exec", host, os.Args[0], "-test.run", "^TestAddresses$")
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	return cmd
}

func newHostSide(t *testing.T) *side {
	dev, err := udp.Open(udp.Config{Paths: 4})
	must(t, err)
	return newSide(t, dev)
}

func addressesListener(t *testing.T) {
	s := newHostSide(t)
	l, err := Listen(s.manager, 4000, s.config(1))
	must(t, err)
	fmt.Printf("at %d %d\n", s.mr.Addr(), uint32(s.mr.RKey()))
	c, err := l.Accept(testContext(t))
	must(t, err)
	<-c.Done() // the parent ends this process
}

func addressesDialer(t *testing.T, listener string) {
	var memory Remote
	var key uint32
	_, err := fmt.Sscan(listener, &memory.Addr, &key)
	must(t, err)
	memory.RKey = verbs.RKey(key)
	s := newHostSide(t)
	cfg := s.config(2)
	cfg.Addresses = []netip.Addr{netip.MustParseAddr("10.91.1.1")}
	s.conn, err = Dial(testContext(t), s.manager, "10.91.0.1:4000", cfg)
	must(t, err)
	defer s.conn.Close()
	s.awaitUp(2)
	s.writeOverBoth(memory)

	must(t, s.conn.Post(Request{Op: OpWrite, Local: s.buffer(0, 1<<21), Remote: memory}))
	ip(t, "link", "set", "cable1", "down")
	var out [1]Completion
	_, err = s.conn.Wait(testContext(t), out[:])
	must(t, err)
	must(t, out[0].Err)
	must(t, s.conn.Write(testContext(t), s.buffer(0, 1<<20), memory))

	ip(t, "link", "set", "cable1", "up")
	for deadline := time.Now().Add(time.Minute); ; {
		before := sent(t, 1)
		must(t, s.conn.Write(testContext(t), s.buffer(0, 1<<20), memory))
		if sent(t, 1)-before > 1<<17 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the cable that is back is not used")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// writeOverBoth expects a WRITE to use both cables.
func (s *side) writeOverBoth(memory Remote) {
	s.t.Helper()
	before := [2]int{sent(s.t, 0), sent(s.t, 1)}
	must(s.t, s.conn.Write(testContext(s.t), s.buffer(0, 1<<20), memory))
	for c := range before {
		if bytes := sent(s.t, c) - before[c]; bytes < 1<<17 {
			s.t.Errorf("cable %d carried %d bytes of 1 MiB", c, bytes)
		}
	}
}

// sent is how many bytes a cable has carried.
func sent(t testing.TB, cable int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/sys/class/net/cable%d/statistics/tx_bytes", cable))
	must(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	must(t, err)
	return n
}
