package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/operate"
)

// deviceLook is what programs say of their devices at one moment, by machine, process and number.
type deviceLook map[deviceKey]*operate.Device

type deviceKey struct {
	host        string
	pid, number int
}

func keyOf(i *operate.Identity) deviceKey { return deviceKey{i.Host, i.PID, i.Number} }

// runDevices is `braid stat --qp`: what the programs' sockets say of devices, queue pairs and paths.
func (f *statFlags) runDevices(cmd *cobra.Command) error {
	ctx := cmd.Context()
	var earlier deviceLook
	if f.interval > 0 {
		var err error
		if earlier, _, err = f.lookAtDevices(cmd); err != nil {
			return err
		}
	}
	for {
		if f.interval > 0 && !cli.Pause(ctx, f.interval) {
			return statEnd(ctx, f.watch)
		}
		now, order, err := f.lookAtDevices(cmd)
		if err != nil {
			return err
		}
		if err := f.showDevices(cmd.OutOrStdout(), order, earlier); err != nil || !f.watch {
			return err
		}
		earlier = now
	}
}

// lookAtDevices asks all programs.
func (f *statFlags) lookAtDevices(cmd *cobra.Command) (deviceLook, []*operate.Device, error) {
	connected, err := f.connect(cmd)
	if err != nil {
		return nil, nil, err
	}
	defer closePrograms(connected)
	look := deviceLook{}
	var order []*operate.Device
	for _, p := range connected {
		d, err := p.Device(cmd.Context())
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), err) // others may have more to tell
			continue
		}
		look[keyOf(&p.Identity)] = d
		order = append(order, d)
	}
	return look, order, nil
}

// devicesJSON is what `braid stat --qp --json` prints.
type devicesJSON struct {
	Schema  int               `json:"schema"`
	Devices []*operate.Device `json:"devices"`
}

func (f *statFlags) showDevices(w io.Writer, all []*operate.Device, earlier deviceLook) error {
	if f.asJSON {
		return cli.PrintJSON(w, devicesJSON{1, all})
	}
	var b strings.Builder
	if f.watch && cli.IsTerminal(w) {
		b.WriteString("\x1b[H\x1b[2J")
	}
	for _, d := range all {
		then := earlier[keyOf(&d.Program)]
		f.printDevice(&b, d, then)
	}
	if f.watch && !cli.IsTerminal(w) {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *statFlags) printDevice(w io.Writer, d, then *operate.Device) {
	fmt.Fprintf(w, "%s: device %v: PDs %d, CQs %d, SRQs %d, MRs %d (%s), QPs %d\n",
		programTitle(&d.Program), d.Addrs, d.PDs, d.CQs, d.SRQs, d.MRs, byteCount(d.Registered), len(d.QueuePairs))
	if len(d.QueuePairs) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "QPN\tTYPE\tSTATE\tPEER\tTX/s\tRX/s\tTX pkt/s\tRX pkt/s\tRETRANS\tLOST\tLATE\tWINDOW\tIN FLIGHT\tRTT\tBLOCKED\t")
	for i := range d.QueuePairs {
		q := &d.QueuePairs[i]
		before, elapsed := earlierPair(d, then, q.Number)
		per := func(counter string) float64 {
			if q.Counters[counter] < before[counter] || elapsed <= 0 {
				return 0
			}
			return float64(q.Counters[counter]-before[counter]) / elapsed.Seconds()
		}
		late := min(q.Counters["mp_lost"], q.Counters["mp_spurious_retransmits"]) // taken for lost, and was not
		peer := "-"
		if q.Peer.IsValid() {
			peer = q.Peer.String()
		}
		fmt.Fprintf(t, "%#06x\t%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%d\t%d\t%d\t%.0f\t%d\t%v\t%s\t\n", q.Number, q.Type, q.State, peer,
			byteCount(uint64(per("tx_bytes"))), byteCount(uint64(per("rx_bytes"))), per("tx_packets"), per("rx_packets"),
			q.Counters["retransmits"], q.Counters["mp_lost"]-late, late, q.Window, q.InFlight, shortTime(q.RTT), q.Blocked)
	}
	t.Flush()
	if f.paths {
		printPaths(w, d)
	}
}

// earlierPair are the counters of a queue pair at an earlier look, and how long ago that was. Those of one that was not there,
// and all without such a look, are since the program began.
func earlierPair(d, then *operate.Device, number uint32) (map[string]uint64, time.Duration) {
	if then != nil {
		for i := range then.QueuePairs {
			if then.QueuePairs[i].Number == number {
				return then.QueuePairs[i].Counters, d.At.Sub(then.At)
			}
		}
	}
	return nil, d.At.Sub(d.Program.Opened)
}

// printPaths prints what each path has carried.
func printPaths(w io.Writer, d *operate.Device) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "QPN\tPATH\tSENT\tBYTES\tACKED\tLOST\tMARKED\tRTT\tSTATE\t")
	for i := range d.QueuePairs {
		q := &d.QueuePairs[i]
		for _, p := range q.Paths {
			if p.Sent == 0 {
				continue
			}
			state := "in use"
			if p.Retired {
				state = "retired"
			}
			fmt.Fprintf(t, "%#06x\t%d\t%d\t%s\t%d\t%d\t%d\t%v\t%s\t\n", q.Number, p.Index, p.Sent, byteCount(p.Bytes), p.Acknowledged, p.Lost, p.Marked, shortTime(p.RTT), state)
		}
	}
	t.Flush()
}
