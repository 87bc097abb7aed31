package full

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/monitor"
)

// newMonitor is `braid monitor`.
func newMonitor() *cobra.Command {
	var (
		cfg    monitor.Config
		page   monitor.PageConfig
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "monitor",
		Short: "Tell agents whom to probe, and what is at fault",
		Long: `monitor is where the agents of a datacenter report: it tells each whom to probe (all
of its rack, ten times a second, and hosts of all other racks, once a second, by source
ports of which a part changes each hour), and says what is at fault: a host, the switch of
a rack, a path, a host that is overloaded, or an agent that says nothing. It prints what
happens, shows it on a page for a browser, and keeps what agents report for --retention in
--dir.

The page (--http) is for this machine and read-only, unless somebody logs in with the token
of an operator; from another machine it is reached through ssh -L. At an address that is
not a loopback one it is served over TLS, with the certificate of --http-cert or the
monitor's own, and every reader needs the token of a reader or operator (by the form on the
page, or as Authorization: Bearer TOKEN), or a client certificate of --http-client-ca.

Agents join over TLS with the token that it prints. Tools of other machines ask it with
another one, join-reader in --dir, or join-operator where they may change the parameters
of programs: braid why HOST, braid stat HOST, braid adm --host HOST, braid ping --mesh.
It listens on loopback unless told otherwise.

--json prints an object for each event: {"at", "says", "alarm": {"blame", "of", "since",
"ended", "worst", "paths"}}.`,
		Example: `  braid monitor
  braid monitor --listen 0.0.0.0:7480 --dir /var/lib/braid
  braid monitor --http 10.0.0.1:7481 --http-name monitor.example.org
  braid monitor --http :443 --http-cert page.crt --http-key page.key --http-client-ca people.crt
  braid monitor --nats tls://nats1.example:4222,tls://nats2.example:4222 --nats-creds monitor.creds --nats-replicas 3
  braid ping --mesh --monitor 10.0.0.1:7480 --join-file join-reader`,
		Args: cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.External.Check(); err != nil {
				return cli.Usage(fmt.Errorf("--nats: %w", err))
			}
			if cfg.MaxBytes < 1<<20 {
				return cli.Usage(fmt.Errorf("--store-bytes %d: want %d at least", cfg.MaxBytes, 1<<20))
			}
			if cfg.Window < time.Second || cfg.Window > time.Hour || cfg.Retention < cfg.Window {
				return cli.Usage(fmt.Errorf("--window %v, --retention %v: want 1s to 1h, and no less than that", cfg.Window, cfg.Retention))
			}
			return runMonitor(cmd, &cfg, &page, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&cfg.Listen, "listen", "127.0.0.1:7480", "address for agents; port 0 takes a free one")
	flags.StringVar(&page.Listen, "http", "127.0.0.1:7481", "address of the page; not on loopback: over TLS, for those who log in; empty: there is none")
	flags.StringVar(&page.Certificate, "http-cert", "", "file with the certificate of the page; default elsewhere than on loopback: the monitor's own")
	flags.StringVar(&page.Key, "http-key", "", "file with its key")
	flags.StringVar(&page.ClientCA, "http-client-ca", "", "file with authorities whose client certificates let people read the page")
	flags.StringSliceVar(&page.Names, "http-name", nil, "names by which the page is reached, besides its address and those of --http-cert")
	flags.StringVar(&cfg.Dir, "dir", stateDir("monitor"), "directory for its key, token and what agents report")
	flags.DurationVar(&cfg.Window, "window", 30*time.Second, "how often agents report")
	flags.DurationVar(&cfg.Retention, "retention", 7*24*time.Hour, "how long it is kept what they report")
	flags.Int64Var(&cfg.MaxBytes, "store-bytes", 1<<30, "bytes of it that are kept: the oldest go first")
	flags.Float64Var(&cfg.Limits.Loss, "loss", 0.02, "loss from which on something is wrong")
	flags.StringVar(&cfg.External.URL, "nats", "", "URL of a NATS cluster with JetStream to use instead of the one inside, for more agents than one machine can have")
	flags.StringVar(&cfg.External.Credentials, "nats-creds", "", "file with the credentials for --nats")
	flags.StringVar(&cfg.External.CA, "nats-ca", "", "file with the certificates that sign those of --nats (default: the system's)")
	flags.IntVar(&cfg.External.Replicas, "nats-replicas", 1, "servers of --nats that keep each window")
	flags.BoolVar(&asJSON, "json", false, "print events as JSON objects, one in a line")
	return cmd
}

// stateDir is where a daemon keeps things.
func stateDir(name string) string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "braid", name)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "braid", name)
	}
	return filepath.Join(home, ".local", "state", "braid", name)
}

func runMonitor(cmd *cobra.Command, cfg *monitor.Config, page *monitor.PageConfig, asJSON bool) error {
	events := make(chan monitor.Event, 1000)
	cfg.OnEvent = func(e monitor.Event) {
		select {
		case events <- e:
		default: // a terminal that is stopped does not stop the monitor
		}
	}
	m, err := monitor.Start(*cfg)
	if err != nil {
		return err
	}
	defer m.Close()
	w := cmd.OutOrStdout()
	where := ""
	if page.Listen != "" {
		p, err := m.ServePage(*page)
		if err != nil {
			return err
		}
		defer p.Close()
		if where = "page: " + p.URL(); p.Fingerprint() != "" {
			where += "\nits certificate (SHA-256): " + p.Fingerprint()
		}
	}
	if !asJSON {
		if cfg.External.URL == "" {
			fmt.Fprintf(w, "listening on %s\nagents join with: braid agent --monitor %s --join %s\n", m.Addr(), m.Addr(), m.Join(monitor.RoleAgent))
			fmt.Fprintf(w, "readers and operators have the tokens in %s and %s\n",
				filepath.Join(cfg.Dir, monitor.JoinFile(monitor.RoleReader)), filepath.Join(cfg.Dir, monitor.JoinFile(monitor.RoleOperator)))
		} else {
			fmt.Fprintf(w, "using NATS at %s\nagents join with: braid agent --nats %s --nats-creds FILE\n", m.Addr(), m.Addr())
		}
		if where != "" {
			fmt.Fprintln(w, where)
		}
	}
	for {
		select {
		case <-cmd.Context().Done():
			return nil // there is no other end
		case e := <-events:
			if asJSON {
				err = cli.PrintEvent(w, &e)
			} else {
				_, err = fmt.Fprintf(w, "%s  %v\n", e.At.Local().Format(time.DateTime), &e)
			}
			if err != nil {
				return err
			}
		}
	}
}

// monitorFlags are how a command finds a monitor.
type monitorFlags struct{ cli.MonitorFlags }

// external is the NATS cluster that is named, if one is.
func (f *monitorFlags) external() monitor.External {
	return monitor.External{URL: f.URL, Credentials: f.Credentials, CA: f.CA}
}

// token is what lets this program join in a role. On the machine of the monitor its own user need not give it.
func (f *monitorFlags) token(r monitor.Role) (string, error) {
	external := f.external()
	if err := external.Check(); err != nil {
		return "", cli.Usage(fmt.Errorf("--nats: %w", err))
	}
	file, given := f.JoinFile, f.JoinFile != ""
	switch {
	case f.URL != "":
		return "", nil // its credentials are enough
	case f.Join != "":
		return f.Join, nil
	case given:
	case os.Getenv("BRAID_JOIN") != "":
		return os.Getenv("BRAID_JOIN"), nil
	default:
		file = filepath.Join(stateDir("monitor"), monitor.JoinFile(r))
	}
	text, err := os.ReadFile(file)
	if !given && errors.Is(err, fs.ErrNotExist) {
		return "", cli.Usage(errors.New("the token of the monitor is needed: --join-file, BRAID_JOIN or --join"))
	}
	return strings.TrimSpace(string(text)), err
}

// dial connects to the monitor, to ask.
func (f *monitorFlags) dial() (*monitor.Client, error) {
	join, err := f.token(monitor.RoleOperator)
	if err != nil {
		return nil, err
	}
	external := f.external()
	c, err := external.Dial(f.Address, join)
	if errors.Is(err, monitor.ErrJoin) {
		err = cli.Usage(err)
	}
	return c, err
}
