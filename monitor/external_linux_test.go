package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// cluster is a NATS server with an account for braid, as somebody else runs it, and a file with credentials.
func cluster(t *testing.T) (url, credentials string) {
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
	url, credentials := cluster(t)
	e := External{URL: url, Credentials: credentials}
	if _, err := Start(Config{Dir: t.TempDir(), External: External{URL: url}}); err == nil {
		t.Error("no credentials are needed")
	}
	start := func() *Monitor {
		m, err := Start(Config{Dir: t.TempDir(), Window: time.Second, Mesh: Mesh{RackRate: 50, FabricRate: 50}, External: e, Log: testLog(t)})
		must(t, err)
		t.Cleanup(m.Close)
		return m
	}
	m := start()
	if m.Addr() != url || !m.State().Store.Up {
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

// TestExternalAddress checks that nothing is sent in the open to other machines, and that no password is shown.
func TestExternalAddress(t *testing.T) {
	t.Parallel()
	for url, fine := range map[string]bool{
		"tls://nats.example:4222": true, "tls://a:1,tls://b:2": true, "nats://127.0.0.1:4222": true, "nats://localhost": true, "nats://[::1]:1": true,
		"nats://nats.example": false, "tls://a,nats://10.0.0.1": false, "http://a": false, "a:4222": false, "ws://127.0.0.1": false, ":": false,
	} {
		if err := (&External{URL: url}).Check(); (err == nil) != fine {
			t.Errorf("%s: %v", url, err)
		}
	}
	e := External{URL: "tls://braid:hidden@a:1"}
	if text := e.name(); strings.Contains(text, "hidden") {
		t.Error(text)
	}
	if _, err := e.Dial("", ""); err == nil || strings.Contains(fmt.Sprint(err), "hidden") {
		t.Error(err)
	}
	for url, want := range map[string]string{"tls://a:1,tls://b:2": "a:1", "tls://[::1]": "[::1]:4222", "tls://a": "a:4222"} {
		if got, err := (&External{URL: url}).Host(); err != nil || got != want {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
}
