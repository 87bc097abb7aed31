package monitor

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// External is a NATS cluster that others run, in the place of the one inside the monitor: it says who may join, and what is stored where. The
// zero value stands for the one inside the monitor.
type External struct {
	URL         string // of its servers, with commas between them; tls:// unless they are on this machine
	Credentials string // a file of NATS (.creds); empty: the URL has a user and a password, or none is needed
	CA          string // a file with the certificates of who has signed theirs; empty: those of the system
	Replicas    int    // of the stream, for a monitor; 0: one
}

const (
	// maxPayload is what a message may have: the state of thousands of hosts.
	maxPayload = 4 << 20
	// reconnectWait is how long the monitor waits before it tries again to connect to the server in this process.
	reconnectWait = 20 * time.Millisecond
)

// Check refuses a cluster to which secrets would be sent in the open.
func (e *External) Check() error {
	if e.URL == "" {
		return nil
	}
	for text := range strings.SplitSeq(e.URL, ",") {
		u, err := url.Parse(text)
		if err != nil {
			return err
		}
		switch u.Scheme {
		case "tls":
		case "nats":
			if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
				return fmt.Errorf("%s is not encrypted, which is for this machine only: use tls://", u.Redacted())
			}
		default:
			return fmt.Errorf("%s: want tls://HOST:PORT", u.Redacted())
		}
	}
	return nil
}

// dial is where a peer of the monitor connects to, and how: to an external cluster, or to the monitor with the token of a role.
func (e *External) dial(address, join string, as ...Role) (where string, o []nats.Option, err error) {
	if e.URL == "" {
		o, err = joinAs(join, as...)
		return "tls://" + address, o, err
	}
	if err := e.Check(); err != nil {
		return "", nil, err
	}
	if e.Credentials != "" {
		o = append(o, nats.UserCredentials(e.Credentials))
	}
	if e.CA != "" {
		o = append(o, nats.RootCAs(e.CA))
	}
	return e.URL, o, nil
}

// name is how a cluster is called where people see it: without the password.
func (e *External) name() string {
	all := strings.Split(e.URL, ",")
	for i, text := range all {
		if u, err := url.Parse(text); err == nil {
			all[i] = u.Redacted()
		}
	}
	return strings.Join(all, ",")
}

// Host is that of the first server, with its port.
func (e *External) Host() (string, error) {
	first, _, _ := strings.Cut(e.URL, ",")
	u, err := url.Parse(first)
	if err != nil {
		return "", err
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "4222"), nil
	}
	return u.Host, nil
}

// connection is the monitor's own, to the cluster or to the server in this process.
func (m *Monitor) connection() (*nats.Conn, error) {
	if m.server != nil {
		return nats.Connect("", nats.InProcessServer(m.server), nats.UserInfo(monitorUser, m.own), nats.Name("braid monitor"),
			nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(0, 0))
	}
	where, o, err := m.cfg.External.dial("", "")
	if err != nil {
		return nil, err
	}
	c, err := nats.Connect(where, append(o, nats.Name("braid monitor"), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { m.cfg.Log.Warn("NATS is away", "error", err) }))...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.cfg.External.name(), err)
	}
	if c.MaxPayload() < maxPayload {
		m.cfg.Log.Warn("max_payload of the NATS cluster is small for thousands of hosts", "has", c.MaxPayload(), "want", maxPayload)
	}
	return c, nil
}
