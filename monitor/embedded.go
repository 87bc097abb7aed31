package monitor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// startTimeout is how long the embedded NATS may take to be ready.
	startTimeout = 10 * time.Second
	// maxMemory is what streams may keep in memory: there are none that do.
	maxMemory = 64 << 20
)

// embedded is the NATS in this process, for agents that have the secret, over TLS. JetStream is started once in the life of a server: what
// the first has left running would race with the second. So who needs it anew starts a new server, at the same address; agents connect
// again, and send what they have kept.
type embedded struct {
	options *server.Options
	log     server.Logger
	addr    string // where it listens

	mu     sync.Mutex
	server *server.Server
	used   bool // JetStream has been started in it
}

// startEmbedded starts a server.
func startEmbedded(listen, dir string, certificate tls.Certificate, users []*server.User, log server.Logger) (*embedded, error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listen, err)
	}
	e := &embedded{log: log, options: &server.Options{
		Host: host, Port: int(port), Users: users, StoreDir: dir, NoSigs: true, NoLog: true,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}, TLSTimeout: 5, MaxPayload: maxPayload,
	}}
	if port == 0 {
		e.options.Port = server.RANDOM_PORT
	}
	if err := e.start(); err != nil {
		return nil, err
	}
	at := e.server.Addr().(*net.TCPAddr) // those who come back come to the same port
	e.addr, e.options.Port = at.String(), at.Port
	return e, nil
}

func (e *embedded) start() error {
	s, err := server.NewServer(e.options.Clone()) // it writes to its own
	if err != nil {
		return err
	}
	s.SetLoggerV2(e.log, false, false, false)
	go s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		s.WaitForShutdown()
		return fmt.Errorf("%s: not ready after %v; is the port in use?", net.JoinHostPort(e.options.Host, strconv.Itoa(e.options.Port)), startTimeout)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.server, e.used = s, false
	return nil
}

func (e *embedded) now() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.server
}

// stop ends the server, and with it what it has of JetStream.
func (e *embedded) stop() {
	e.mu.Lock()
	s := e.server
	e.server = nil
	e.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// fresh says whether JetStream can be started in it.
func (e *embedded) fresh() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.server != nil && !e.used
}

// stores says whether JetStream runs.
func (e *embedded) stores() bool {
	s := e.now()
	return s != nil && s.JetStreamEnabled()
}

// startJetStream has a fresh server read what was kept.
func (e *embedded) startJetStream(maxBytes int64) error {
	e.mu.Lock()
	s := e.server
	e.used = true
	e.mu.Unlock()
	return s.EnableJetStream(&server.JetStreamConfig{StoreDir: e.options.StoreDir, MaxStore: 2 * maxBytes, MaxMemory: maxMemory, SyncInterval: 2 * time.Minute})
}

// stopJetStream closes the files of the store; the server goes on without.
func (e *embedded) stopJetStream() error {
	if s := e.now(); s != nil {
		return s.ShutdownJetStream()
	}
	return nil
}

// jetStreamDir is where NATS keeps its streams.
func (e *embedded) jetStreamDir() string {
	return filepath.Join(e.options.StoreDir, server.JetStreamStoreDir)
}

// InProcessConn connects the monitor to the server of now.
func (e *embedded) InProcessConn() (net.Conn, error) {
	if s := e.now(); s != nil {
		return s.InProcessConn()
	}
	return nil, errors.New("the server is being started")
}
