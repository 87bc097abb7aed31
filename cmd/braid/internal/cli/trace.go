package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/internal/qlog"
	"github.com/braid-rdma/braid/transport"
)

// Trace is the flag --trace and the file that it asks for.
type Trace struct {
	path string
	file *qlog.Writer // nil: nothing is traced
}

// Register adds the flag; what is written to the file is said in its help.
func (t *Trace) Register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&t.path, "trace", "", "write "+what+" to a file, as lines of JSON")
	// It fails only for a flag that does not exist.
	_ = cmd.MarkFlagFilename("trace")
}

// Wanted says whether the flag asks for a file.
func (t *Trace) Wanted() bool { return t.path != "" }

// Open begins the file, if the flag asks for one. lossless is for simulations,
// which can wait for the disk.
func (t *Trace) Open(cmd *cobra.Command, lossless bool) (err error) {
	switch t.path {
	case "":
		return nil
	case "-":
		return Usage(errors.New("--trace -: the results go to standard output; use a file or a named pipe"))
	}
	t.file, err = qlog.Create(t.path, qlog.Options{Title: cmd.CommandPath(), Lossless: lossless})
	return err
}

// Device is the Trace of a device's queue pairs, or nil without the flag.
func (t *Trace) Device(name string) transport.Tracer {
	if t.file == nil {
		return nil
	}
	return t.file.Device(name)
}

// Close ends the file, once no queue pair is left that writes to it. What went
// wrong with it makes a command fail that went well so far.
func (t *Trace) Close(cmd *cobra.Command, failed *error) {
	if t.file == nil {
		return
	}
	err, dropped := t.file.Close(), t.file.Dropped()
	switch {
	case err != nil && *failed == nil:
		*failed = fmt.Errorf("--trace: %w", err)
	case err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "--trace: %v\n", err)
	case dropped > 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "--trace: %d events are missing in %s: they came faster than it was written\n", dropped, t.path)
	}
}
