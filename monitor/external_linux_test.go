package monitor

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// cluster is a NATS server with an account for braid, as somebody else runs it, and a file with credentials.
func cluster(t *testing.T) (at, credentials string) {
	t.Helper()
	operator, err := nkeys.CreateOperator()
	must(t, err)
	account := func(name string, jetStream bool) (nkeys.KeyPair, string, string) {
		key, err := nkeys.CreateAccount()
		must(t, err)
		public, err := key.PublicKey()
		must(t, err)
		claims := jwt.NewAccountClaims(public)
		claims.Name = name
		if jetStream {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
		}
		text, err := claims.Encode(operator)
		must(t, err)
		return key, public, text
	}
	_, system, systemText := account("system", false)
	key, braid, braidText := account("braid", true)
	trusted, err := operator.PublicKey()
	must(t, err)
	resolver := &server.MemAccResolver{}
	must(t, resolver.Store(system, systemText))
	must(t, resolver.Store(braid, braidText))
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, TrustedKeys: []string{trusted}, AccountResolver: resolver, SystemAccount: system,
		JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	must(t, err)
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready")
	}
	return "nats://" + s.Addr().String(), userOf(t, key)
}

// userOf makes a user of an account, and returns the file with its credentials.
func userOf(t *testing.T, account nkeys.KeyPair) string {
	t.Helper()
	user, err := nkeys.CreateUser()
	must(t, err)
	public, err := user.PublicKey()
	must(t, err)
	text, err := jwt.NewUserClaims(public).Encode(account)
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	both, err := jwt.FormatUserConfig(text, seed)
	must(t, err)
	file := filepath.Join(t.TempDir(), "braid.creds")
	must(t, os.WriteFile(file, both, 0o600))
	return file
}

// TestExternalCluster has monitor and agents meet at a NATS server that others run.
func TestExternalCluster(t *testing.T) {
	t.Parallel()
	at, credentials := cluster(t)
	e := External{URL: at, Credentials: credentials}
	if _, err := Start(Config{Dir: t.TempDir(), External: External{URL: at}}); err == nil {
		t.Error("no credentials are needed")
	}
	start := func() *Monitor {
		m, err := Start(Config{Dir: t.TempDir(), Window: time.Second, Mesh: Mesh{RackRate: 50, FabricRate: 50}, External: e, Log: testLog(t)})
		must(t, err)
		t.Cleanup(m.Close)
		return m
	}
	m := start()
	if m.Addr() != at || !m.State().Store.Up {
		t.Errorf("%s: %+v", m.Addr(), m.State().Store)
	}
	newMachineOf(t, AgentConfig{External: e}, "a", "r1")
	b := newMachineOf(t, AgentConfig{External: e}, "b", "r1")
	eventually(t, "both see each other", func() bool { return sees(m, "a", "b") })
	eventually(t, "the state tells so", func() bool {
		c, err := e.Dial("", "")
		must(t, err)
		defer c.Close()
		state, err := c.State(t.Context())
		must(t, err)
		return len(state.Hosts) == 2 && len(state.Mesh) == 2
	})
	b.stop()
	eventually(t, "the dead host is named", func() bool { return alarmed(m, BlameHost, "b") })
	p, err := m.ServePage(PageConfig{Listen: "127.0.0.1:0"})
	must(t, err)
	defer p.Close()
	if families, _ := scrape(t, p); families["braid_store_up"] == nil || families["braid_nats_connections"] != nil {
		t.Error("metrics of a server that is not there")
	}
	// The store is the cluster's: a monitor elsewhere finds what there is.
	m.Close()
	again := start()
	if s := again.State().Store; !s.Up || len(s.SetAside) != 0 {
		t.Errorf("%+v", s)
	}
	if n := storedBetween(t, again, time.Time{}, time.Now()); n < 2 {
		t.Errorf("%d windows are stored", n)
	}
	eventually(t, "a joins again", func() bool { return len(again.Windows()) == 1 })
}

// threeServers are a NATS cluster whose servers show a certificate that an authority of its own has signed.
func threeServers(t *testing.T) (e External, servers [3]*server.Server) {
	t.Helper()
	ca, certificate := authority(t, "nats")
	var routes []*url.URL
	for range servers {
		routes = append(routes, &url.URL{Scheme: "nats", Host: freePort(t)})
	}
	var all []string
	for i := range servers {
		_, text, err := net.SplitHostPort(routes[i].Host)
		must(t, err)
		port, err := strconv.Atoi(text)
		must(t, err)
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, Users: []*server.User{{Username: "braid", Password: "hidden"}},
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}, TLSTimeout: 30,
			Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: port}, Routes: routes,
			JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		})
		must(t, err)
		go s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("NATS is not ready")
		}
		servers[i], all = s, append(all, "tls://braid:hidden@"+s.Addr().String())
	}
	return External{URL: strings.Join(all, ","), CA: ca, Replicas: len(servers)}, servers
}

// freePort is an address at which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestExternalClusterLosesAServer checks that one server of three can be lost, whichever it is, and nothing with it.
func TestExternalClusterLosesAServer(t *testing.T) {
	t.Parallel()
	e, servers := threeServers(t)
	stranger := e
	stranger.CA = ""
	if _, err := stranger.Dial("", ""); err == nil {
		t.Error("servers are trusted that nobody has vouched for")
	}
	m, err := Start(Config{Dir: t.TempDir(), Window: time.Second, Mesh: Mesh{RackRate: 50, FabricRate: 50}, External: e, Log: testLog(t)})
	must(t, err)
	t.Cleanup(m.Close)
	newMachineOf(t, AgentConfig{External: e}, "a", "r1")
	newMachineOf(t, AgentConfig{External: e}, "b", "r1")
	stored := func(from, to time.Time) int {
		n, _ := tryStoredBetween(m, from, to) // the servers may be about to agree on who leads
		return n
	}
	eventually(t, "windows are stored", func() bool {
		return m.State().Store.Up && sees(m, "a", "b") && stored(time.Time{}, time.Now()) >= 2
	})
	var info *nats.StreamInfo
	eventually(t, "one leads", func() bool {
		info, err = m.streamInfo()
		return err == nil && info.Cluster.Leader != ""
	})
	if info.Config.Replicas != len(servers) {
		t.Errorf("%d replicas", info.Config.Replicas)
	}
	until := time.Now()
	before := stored(time.Time{}, until)
	for _, s := range servers { // the one that leads the stream: most has to be done again
		if s.Name() == info.Cluster.Leader {
			s.Shutdown()
		}
	}
	lost := time.Now()
	eventually(t, "windows are stored by those who are left", func() bool {
		return m.State().Store.Up && stored(lost.Add(2*time.Second), time.Now()) >= 2
	})
	eventually(t, "nothing is lost", func() bool { return before > 0 && stored(time.Time{}, until) >= before })
	eventually(t, "both see each other", func() bool { return sees(m, "a", "b") })
}

// TestExternalAddress checks that nothing is sent in the open to other machines, and that no password is shown.
func TestExternalAddress(t *testing.T) {
	t.Parallel()
	for at, fine := range map[string]bool{
		"tls://nats.example:4222": true, "tls://a:1,tls://b:2": true, "nats://127.0.0.1:4222": true, "nats://localhost": true, "nats://[::1]:1": true,
		"nats://nats.example": false, "tls://a,nats://10.0.0.1": false, "http://a": false, "a:4222": false, "ws://127.0.0.1": false, ":": false,
	} {
		if err := (&External{URL: at}).Check(); (err == nil) != fine {
			t.Errorf("%s: %v", at, err)
		}
	}
	e := External{URL: "tls://braid:hidden@a:1"}
	if text := e.name(); strings.Contains(text, "hidden") {
		t.Error(text)
	}
	if _, err := e.Dial("", ""); err == nil || strings.Contains(fmt.Sprint(err), "hidden") {
		t.Error(err)
	}
	for at, want := range map[string]string{"tls://a:1,tls://b:2": "a:1", "tls://[::1]": "[::1]:4222", "tls://a": "a:4222"} {
		if got, err := (&External{URL: at}).Host(); err != nil || got != want {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
}
