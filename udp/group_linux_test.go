package udp

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// sharedAddress is a loopback address that no other test process chooses.
func sharedAddress() netip.Addr { return loopbackAddr(uint32(os.Getpid())&0xffff | 0x4d0000) }

// connectAt connects a device at an address with one at an address of its own.
func connectAt(t testing.TB, at netip.Addr, kind verbs.QPType) (a, b *end) {
	t.Helper()
	o := verbs.QPOptions{Type: kind}
	a, b = openEnd(t, Config{Addr: at, Paths: 4}, o, streamMemory(8192, 8)), openEnd(t, Config{Paths: 4}, o, streamMemory(8192, 8))
	pa, pb := a.qp.Params(), b.qp.Params()
	noError(t, a.qp.Connect(pb))
	noError(t, b.qp.Connect(pa))
	return a, b
}

// Devices at one address each get what is for their queue pairs.
func TestGroupTellsDevicesApart(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			var streams []*stream
			var devices []*verbs.Device
			for range 4 {
				a, b := connectAt(t, sharedAddress(), kind)
				streams = append(streams, newStream(a, b, 8192, 8), newStream(b, a, 8192, 8))
				devices = append(devices, a.dev)
			}
			for range 5 {
				for _, s := range streams {
					s.run(20)
				}
			}
			for i, d := range devices {
				s := statsOf(t, d)
				if s.SharingDevices != 3 || s.UnknownQP+s.WrongSource+s.BadICRC+s.HandoverDropped != 0 {
					t.Errorf("device %d: %+v", i, s)
				}
			}
		})
	}
}

// A run of packets for several devices, which the kernel joined because they came from one port, comes to
// one socket. Each packet is brought to its device.
func TestGroupHandsOverStrayPackets(t *testing.T) {
	at := sharedAddress()
	const rounds = 20
	o := verbs.QPOptions{Type: verbs.MP}
	var servers []*end
	for range 3 {
		servers = append(servers, openEnd(t, Config{Addr: at, Paths: 1}, o, 64))
	}
	client := openEnd(t, Config{Paths: 1}, o, 64)
	qps := []*verbs.QP{client.qp}
	for len(qps) < len(servers) {
		o.SendCQ = client.cq
		qp, err := client.pd.CreateQP(o)
		noError(t, err)
		qps = append(qps, qp)
	}
	for i, s := range servers {
		p := qps[i].Params()
		noError(t, qps[i].Connect(s.qp.Params()))
		noError(t, s.qp.Connect(p))
	}
	// What the kernel does not take yet is joined with what follows, as by a sender that knows nothing of parts.
	e := engineOf(client.dev)
	ignorePart := func(next *verbs.QP) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if tail := e.batch.queues[0].tail; tail != noSlot {
			e.batch.slots[tail].part = partOf(next.Number())
		}
	}
	sendBy := func(send sendFunc) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.batch.send = send
	}
	full := func(int, []mmsghdr) (int, unix.Errno) { return 0, unix.EAGAIN }
	for round := range rounds {
		sendBy(full)
		text := fmt.Appendf(nil, "%08d", round)
		for i, qp := range qps {
			ignorePart(servers[i].qp)
			noError(t, qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: text, RemoteAddr: servers[i].mr.Addr(), RKey: servers[i].mr.RKey()}))
		}
		sendBy(sendmmsg)
		for range qps {
			client.wait()
		}
		for i, s := range servers {
			got := make([]byte, len(text))
			noError(t, s.mr.Load(0, got))
			if !bytes.Equal(got, text) {
				t.Fatalf("server %d has %q in round %d", i, got, round)
			}
		}
	}
	handed := uint64(0)
	for _, s := range servers {
		handed += statsOf(t, s.dev).PacketsHandedOver
	}
	// Each run has a packet for one server and two for others, of which those for a member that a member received take two steps.
	if e.pool.socket(0).gso && handed < rounds {
		t.Errorf("%d packets were handed over in %d rounds", handed, rounds)
	}
}

// The device that leads is killed: another leads, connections do not notice, and a new device has the seat.
func TestGroupOutlivesItsLeader(t *testing.T) {
	at := sharedAddress()
	peer := startPeer(t)
	first := openEnd(t, Config{}, verbs.QPOptions{Type: verbs.MP}, 4096)
	connectPeer(peer, first, []*verbs.QP{first.qp}, openOrder{Addr: at, Type: verbs.MP, RecvDepth: 16, Memory: 4096})
	var streams []*stream
	var members []*verbs.Device
	join := func() {
		a, b := connectAt(t, at, verbs.MP)
		streams = append(streams, newStream(a, b, 8192, 8), newStream(b, a, 8192, 8))
		members = append(members, a.dev)
	}
	all := func() {
		for _, s := range streams {
			s.run(50)
		}
	}
	leads := func(d *verbs.Device) bool {
		g := engineOf(d).own.group
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.leader == nil
	}
	leaders := func() (n int) {
		for _, d := range members {
			if leads(d) {
				n++
			}
		}
		return n
	}
	join()
	join()
	all()
	if n := leaders(); n != 0 {
		t.Fatalf("%d devices lead besides the first", n)
	}
	peer.kill()
	all()
	eventually(t, "one of the others leads", func() bool { return leaders() == 1 })
	eventually(t, "the other has come back to it", func() bool {
		return statsOf(t, members[0]).SharingDevices+statsOf(t, members[1]).SharingDevices >= 2
	})
	join()
	all()
	g := engineOf(members[2]).own.group
	g.mu.Lock()
	if g.seat != firstSeat {
		t.Errorf("the new device has seat %d, want that of the dead one", g.seat)
	}
	g.mu.Unlock()
	// A device that closes is as good as one that was killed.
	for i, d := range members {
		if leads(d) {
			noError(t, d.Close())
			streams = append(streams[:2*i], streams[2*i+2:]...)
			members = append(members[:i], members[i+1:]...)
			break
		}
	}
	eventually(t, "the next leads", func() bool { return leaders() == 1 })
	all()
}

// What is for nobody is the leader's to refuse, and who has left is asked for once, not with each packet.
func TestGroupForgetsWhoHasLeft(t *testing.T) {
	a, b := connectAt(t, sharedAddress(), verbs.MP)
	member, err := Open(Config{Addr: sharedAddress(), Paths: 1, Loops: 1})
	noError(t, err)
	noError(t, member.Close())
	noError(t, b.dev.Close())
	g := engineOf(a.dev).own.group
	eventually(t, "the leader knows", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.seats) == 3 && g.seats[2].conn == nil
	})
	packet := make([]byte, 512)
	packet[7] = byte(wire.ManagementQPN)
	packet[wire.BTHLen+wire.DETHLen+17] = 0x10 // a REQ, for service 0
	g.mu.Lock()
	defer g.mu.Unlock()
	if conn, own := g.deviceOf(packet); conn != nil || !own || g.seats[2].holder != nobody {
		t.Errorf("a request that nobody serves: %v, %v; the seat is that of %+v", conn, own, g.seats[2].holder)
	}
}

// Devices come and go in any order; those that stay move data all the time.
func TestGroupChurn(t *testing.T) {
	at := sharedAddress()
	r := rand.New(rand.NewPCG(7, 9))
	type pair struct {
		a, b    *end
		streams [2]*stream
	}
	var pairs []pair
	join := func() {
		a, b := connectAt(t, at, verbs.MP)
		pairs = append(pairs, pair{a, b, [2]*stream{newStream(a, b, 8192, 8), newStream(b, a, 8192, 8)}})
	}
	for range 3 {
		join()
	}
	for range 30 {
		switch {
		case len(pairs) < 2 || len(pairs) < 6 && r.IntN(2) == 0:
			join()
		default:
			i := r.IntN(len(pairs))
			noError(t, pairs[i].a.dev.Close())
			noError(t, pairs[i].b.dev.Close())
			pairs = append(pairs[:i], pairs[i+1:]...)
		}
		for i := range pairs {
			for _, s := range pairs[i].streams {
				s.run(10)
			}
		}
	}
	for i := range pairs {
		if s := statsOf(t, pairs[i].a.dev); s.WrongSource+s.BadICRC != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A device that leads now and has no file for the socket of queue pair 1 has it as soon as there is one.
func TestGroupLeaderShortOfFiles(t *testing.T) {
	at := sharedAddress()
	leader, err := Open(Config{Addr: at, Paths: 1, Loops: 1})
	noError(t, err)
	member := engineOf(openEnd(t, Config{Addr: at, Paths: 1}, verbs.QPOptions{}, 64).dev)
	g := member.own.group
	swap := func(fd int) (old int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		old, g.seats[managementSeat].fd = g.seats[managementSeat].fd, fd
		return old
	}
	socket := swap(-1)
	noError(t, leader.Close())
	leads := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.leader == nil
	}
	reads := func() bool {
		member.mu.Lock()
		defer member.mu.Unlock()
		return member.own.management != nil
	}
	eventually(t, "it leads", leads)
	if reads() {
		t.Error("it has a socket that it cannot have")
	}
	swap(socket)
	eventually(t, "it reads what comes for queue pair 1", reads)
}

// An address that is another user's, or another program's, or full, is refused as before.
func TestGroupRefuses(t *testing.T) {
	at := sharedAddress()
	var members []*group
	const seats = 9
	for range seats - 1 {
		members = append(members, engineOf(openEnd(t, Config{Addr: at, Paths: 1}, verbs.QPOptions{}, 64).dev).own.group)
	}
	eventually(t, "all know all", func() bool {
		for _, g := range members {
			g.mu.Lock()
			n := len(g.seats)
			g.mu.Unlock()
			if n != seats {
				return false
			}
		}
		return true
	})
	members[0].mu.Lock()
	members[0].limit = seats
	members[0].mu.Unlock()
	before := openFiles()
	if _, err := Open(Config{Addr: at, Paths: 1, Loops: 1}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("one device too many: %v", err)
	}
	if _, err := Open(Config{Addr: at, Paths: 1, Exclusive: true}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("a device that does not share: %v", err)
	}
	exclusive := openEnd(t, Config{Addr: at.Next(), Paths: 1, Exclusive: true}, verbs.QPOptions{}, 64)
	before = openFiles()
	if _, err := Open(Config{Addr: exclusive.dev.Query().Local, Paths: 1}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("the address of one that does not share: %v", err)
	}
	strange := loopbackAddr(uint32(os.Getpid())&0xffff | 0x4e0000)
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(strange, rocePort)))
	noError(t, err)
	defer socket.Close()
	if _, err := Open(Config{Addr: strange}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("the address of another program: %v", err)
	}
	// Somebody has the name and says nonsense.
	name, err := net.ListenUnix("unixpacket", groupName(netip.AddrPortFrom(strange, rocePort)))
	noError(t, err)
	defer name.Close()
	go func() {
		for {
			c, err := name.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(`w{"seat":3,"holders":[{"part":1},{"part":2}]}`))
		}
	}()
	if _, err := Open(Config{Addr: strange}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("a leader that lies: %v", err)
	}
	socket.Close()
	name.Close()
	eventually(t, "no file is left open", func() bool { return openFiles() <= before })
}

// A leader that is stopped keeps nobody waiting.
func TestGroupOfAStoppedLeader(t *testing.T) {
	at := sharedAddress()
	peer := startPeer(t)
	peer.tell(order{Open: &openOrder{Addr: at, Type: verbs.MP, Memory: 64}})
	noError(t, peer.cmd.Process.Signal(unix.SIGSTOP))
	defer peer.cmd.Process.Signal(unix.SIGCONT)
	eventually(t, "it is stopped", func() bool { return stopped(int32(peer.cmd.Process.Pid)) })
	if _, err := Open(Config{Addr: at, Paths: 1, Loops: 1}); !errors.Is(err, ErrPortInUse) || !strings.Contains(err.Error(), "is stopped") {
		t.Errorf("its address: %v", err)
	}
	noError(t, peer.cmd.Process.Signal(unix.SIGCONT))
	eventually(t, "it shares", func() bool {
		dev, err := Open(Config{Addr: at, Paths: 1, Loops: 1})
		if err == nil {
			noError(t, dev.Close())
		}
		return err == nil
	})
}

// Who joins and says nonsense is refused and costs nothing.
func TestGroupIgnoresNonsense(t *testing.T) {
	at := sharedAddress()
	a := openEnd(t, Config{Addr: at, Paths: 1}, verbs.QPOptions{}, 64)
	before := openFiles()
	for _, message := range []string{"", "j", "j{", "p", "p\x00\x00\x00\xff", "s12345678", `j{"seat":-1,"self":{"part":5}}`, `j{"version":1,"seat":0,"self":{"part":5}}`, `j{"version":1,"seat":1,"self":{"part":-1}}`, `j{"version":1,"seat":99,"self":{"part":1}}`, `t{"holders":[]}`} {
		conn, err := dialGroup(netip.AddrPortFrom(at, rocePort))
		noError(t, err)
		if message != "" {
			conn.post([]byte(message), 1)
		}
		conn.CloseWrite()
		for {
			if _, _, files, err := conn.next(); err != nil {
				break
			} else {
				closeAll(files)
			}
		}
		conn.Close()
	}
	eventually(t, "no file is left open", func() bool { return openFiles() <= before+3 }) // the seats and the name of the first device
	b, c := connectAt(t, at, verbs.MP)
	s := newStream(b, c, 8192, 8)
	s.run(20)
	if n := statsOf(t, a.dev).SharingDevices; n != 1 {
		t.Errorf("%d devices share, want 1", n)
	}
}

// Parts of numbers are claimed once, and free again when their device is closed.
func TestPartsAreClaimedOnce(t *testing.T) {
	const port = 1 // nobody's
	var claims []part
	seen := make(map[int]bool)
	for range parts {
		p := claimPart(port, parts)
		if p.number < 0 || seen[p.number] {
			t.Fatalf("part %d of those that are left", p.number)
		}
		seen[p.number] = true
		claims = append(claims, p)
	}
	if p := claimPart(port, parts); p.number >= 0 {
		t.Errorf("part %d twice", p.number)
	}
	if !nameTaken(partName(port, claims[5].number)) {
		t.Error("a part that is claimed seems free")
	}
	claims[5].release()
	if nameTaken(partName(port, claims[5].number)) {
		t.Error("a part that was released seems claimed")
	}
	if p := claimPart(port, parts); p.number != claims[5].number {
		t.Errorf("part %d, want the one that is free", p.number)
	} else {
		p.release()
	}
	for i := range claims {
		claims[i].release()
	}
	if _, err := unix.FcntlInt(uintptr(claims[0].claim), unix.F_GETFD, 0); err == nil {
		t.Error("a released claim has a file")
	}
}
