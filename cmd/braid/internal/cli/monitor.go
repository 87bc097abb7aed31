package cli

import "github.com/spf13/cobra"

// MonitorFlags are how a command finds a monitor.
type MonitorFlags struct {
	Address, Join, JoinFile string
	URL, Credentials, CA    string // of an external NATS cluster
}

// Register adds the flags.
func (f *MonitorFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Address, "monitor", "127.0.0.1:7480", "address of the monitor")
	flags.StringVar(&f.Join, "join", "", "a token of the monitor; others can see it here, better use --join-file or BRAID_JOIN")
	flags.StringVar(&f.JoinFile, "join-file", "", "a file that has the token, such as join-reader in the directory of the monitor")
	flags.StringVar(&f.URL, "nats", "", "URL of the NATS cluster that the monitor uses, instead of --monitor and its token")
	flags.StringVar(&f.Credentials, "nats-creds", "", "file with the credentials for --nats")
	flags.StringVar(&f.CA, "nats-ca", "", "file with the certificates that sign those of --nats (default: the system's)")
}
