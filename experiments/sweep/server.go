package sweep

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrServer is wrapped when the embedded NATS server does not start.
var ErrServer = errors.New("sweep: NATS server")

// startTimeout is how long the embedded server may take to be ready.
const startTimeout = 10 * time.Second

// Server is a NATS server inside this process, with a work queue in a directory
// of its own that is removed with it.
type Server struct {
	nats *server.Server
	dir  string
}

// StartServer starts a server that listens on address, "host:port"; port 0
// takes a free one.
func StartServer(address string) (*Server, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: address %q, expected host:port", ErrServer, address)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("%w: port %q, expected 0 to 65535", ErrServer, text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	dir, err := os.MkdirTemp("", "braid-sweep-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	s.nats, err = server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	}
	go s.nats.Start()
	if !s.nats.ReadyForConnections(startTimeout) {
		s.Close()
		return nil, fmt.Errorf("%w: not ready on %s after %v; is the port in use?", ErrServer, address, startTimeout)
	}
	return s, nil
}

// URL is where workers find the server.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Close stops the server and removes what it stored.
func (s *Server) Close() {
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	_ = os.RemoveAll(s.dir)
}
