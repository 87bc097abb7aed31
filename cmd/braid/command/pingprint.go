package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/ping"
	"github.com/braid-rdma/braid/wire"
)

// pingTitle says what is sent to a host.
func pingTitle(h *pinged, f *pingFlags) string {
	kinds := make([]string, len(f.schedule.By))
	for i, by := range f.schedule.By {
		kinds[i] = string(by)
	}
	host := h.Host
	if h.addr.String() != host {
		host += fmt.Sprintf(" (%v)", h.addr)
	}
	paths := "path"
	if len(f.schedule.Paths) > 1 {
		paths = "paths"
	}
	return fmt.Sprintf("%s by %s, %d %s, %s bytes", host, strings.Join(kinds, ", "), len(f.schedule.Paths), paths, f.sizes)
}

// pingLine is what a probe is told as.
func pingLine(h *pinged, r *ping.Result, trace bool) string {
	var b strings.Builder
	switch {
	case errors.Is(r.Err, ping.ErrBusy):
		fmt.Fprintf(&b, "not sent to %s: ", h.Host)
	case r.Err != nil:
		fmt.Fprintf(&b, "lost to %s: ", h.Host)
	default:
		fmt.Fprintf(&b, "%d bytes from %s: ", r.Size, h.Host)
	}
	fmt.Fprintf(&b, "seq=%d by=%s", r.Number, r.By)
	if r.Path != ping.AnyPath {
		fmt.Fprintf(&b, " path=%d", r.Path)
	}
	if trace && r.Port != 0 {
		fmt.Fprintf(&b, " port=%d>%d", r.Port, wire.UDPPort)
	}
	if trace && r.PeerPort != 0 {
		fmt.Fprintf(&b, " back=%d>%d", r.PeerPort, wire.UDPPort)
	}
	if r.Retransmitted > 0 {
		fmt.Fprintf(&b, " retransmitted=%d", r.Retransmitted)
	}
	if r.Err != nil {
		fmt.Fprintf(&b, ": %v", r.Err)
		return b.String()
	}
	s := &r.Stamps
	fmt.Fprintf(&b, " time=%.1f us (network %.1f, prober %.1f", us(s.RTT()), us(s.Network()), us(s.Prober()))
	if r.By == ping.UD {
		fmt.Fprintf(&b, ", responder %.1f", us(s.Responder()))
	}
	b.WriteByte(')')
	return b.String()
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// pingJSON is what `braid ping --json` prints.
type pingJSON struct {
	Schema    string         `json:"schema"`
	Hosts     []pingHostJSON `json:"hosts"`
	Strays    uint64         `json:"strays"` // replies that no probe waited for
	Malformed uint64         `json:"malformed"`
}

type pingHostJSON struct {
	Host     string             `json:"host"`
	Addr     string             `json:"addr,omitempty"`
	Error    string             `json:"error,omitempty"`
	Sent     uint64             `json:"sent"`
	Received uint64             `json:"received"`
	Skipped  uint64             `json:"skipped,omitempty"` // due, and not sent
	Seconds  float64            `json:"seconds"`
	Paths    []ping.PathSummary `json:"paths"`
	MPPaths  []pingMPPathJSON   `json:"mp_paths,omitempty"` // of the multi-path connection
}

type pingMPPathJSON struct {
	Path         int     `json:"path"`
	Sent         uint64  `json:"sent"` // packets
	Acknowledged uint64  `json:"acknowledged"`
	Lost         uint64  `json:"lost"`
	RTTMicros    float64 `json:"rtt_micros"`
	Retired      bool    `json:"retired"`
}

// pingReport is the summary of all hosts.
func pingReport(p *ping.Prober, all []*pinged) pingJSON {
	c := p.Counters()
	report := pingJSON{Schema: "braid.ping/1", Strays: c.Strays, Malformed: c.Malformed}
	for _, h := range all {
		x := pingHostJSON{Host: h.Host, Seconds: h.took.Seconds(), Paths: h.summary.Paths()}
		x.Sent, x.Received = h.summary.Total()
		for i := range x.Paths {
			x.Skipped += x.Paths[i].Skipped
		}
		if h.addr.IsValid() {
			x.Addr = h.addr.String()
		}
		if h.err != nil {
			x.Error = h.err.Error()
		}
		for i := range h.mpPaths {
			s := &h.mpPaths[i]
			x.MPPaths = append(x.MPPaths, pingMPPathJSON{
				Path: i, Sent: s.Sent, Acknowledged: s.Acknowledged, Lost: s.Lost, RTTMicros: us(time.Duration(s.SmoothedRTT)), Retired: s.Retired,
			})
		}
		report.Hosts = append(report.Hosts, x)
	}
	return report
}

// printPinged prints the summary.
func printPinged(w io.Writer, f *pingFlags, p *ping.Prober, all []*pinged) error {
	report := pingReport(p, all)
	if f.asJSON {
		return cli.PrintJSON(w, report)
	}
	var b strings.Builder
	for i := range report.Hosts {
		if h := &report.Hosts[i]; h.Error == "" {
			printPingedHost(&b, h, f.trace)
		}
	}
	if report.Strays+report.Malformed > 0 {
		fmt.Fprintf(&b, "%d replies came late, twice or from elsewhere, and %d datagrams were no replies\n", report.Strays, report.Malformed)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printPingedHost(w io.Writer, h *pingHostJSON, trace bool) {
	fmt.Fprintf(w, "\n--- %s ping statistics ---\n", h.Host)
	loss := 0.0
	if h.Sent > 0 {
		loss = 100 * float64(h.Sent-h.Received) / float64(h.Sent)
	}
	fmt.Fprintf(w, "%d probes sent, %d replies, %.1f%% lost, %.1f s\n", h.Sent, h.Received, loss, h.Seconds)
	printSkipped(w, h)
	if h.Sent == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	ports := ""
	if trace {
		ports = "PORT\tBACK\t"
	}
	fmt.Fprintf(t, "BY\tPATH\t%sSENT\tRECV\tLOSS\tRTT min us\tavg\tp50\tp99\tmax\tNETWORK p99\tPROBER p99\tRESPONDER p99\tTAIL\tRETRANS\t\n", ports)
	for i := range h.Paths {
		printPingedPath(t, &h.Paths[i], trace)
	}
	t.Flush()
	printMPPaths(w, h.MPPaths)
}

// printSkipped says how many probes were not sent, and why the last was not.
func printSkipped(w io.Writer, h *pingHostJSON) {
	if h.Skipped == 0 {
		return
	}
	i := slices.IndexFunc(h.Paths, func(p ping.PathSummary) bool { return p.Skipped > 0 })
	fmt.Fprintf(w, "%d more were due and not sent (%s): use fewer --paths or hosts, or a longer --interval\n", h.Skipped, h.Paths[i].LastError)
}

func printPingedPath(w io.Writer, p *ping.PathSummary, trace bool) {
	path := "all"
	if p.Path != ping.AnyPath {
		path = fmt.Sprint(p.Path)
	}
	fmt.Fprintf(w, "%s\t%s\t", p.By, path)
	if trace {
		fmt.Fprintf(w, "%s\t%s\t", known(p.Port), known(p.PeerPort))
	}
	fmt.Fprintf(w, "%d\t%d\t%.1f%%\t", p.Sent, p.Received, 100*p.Loss)
	if p.Received == 0 {
		fmt.Fprintf(w, "%s%d\t\n", strings.Repeat("-\t", 9), p.Retransmitted)
		return
	}
	responder, tail := fmt.Sprintf("%.1f", p.Responder.P99), string(p.Tail)
	if p.By != ping.UD {
		responder = "-"
	}
	if tail == "" {
		tail = "-"
	}
	fmt.Fprintf(w, "%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\t%d\t\n",
		p.RTT.Min, p.RTT.Avg, p.RTT.P50, p.RTT.P99, p.RTT.Max, p.Network.P99, p.Prober.P99, responder, tail, p.Retransmitted)
}

// known is a port, or a mark that it is not known.
func known(port uint16) string {
	if port == 0 {
		return "-"
	}
	return fmt.Sprint(port)
}

// printMPPaths prints what the paths of a multi-path connection carried.
func printMPPaths(w io.Writer, paths []pingMPPathJSON) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintln(w, "paths of the multi-path connection, in packets:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "PATH\tSENT\tACKED\tLOST\tRTT us\tSTATE\t")
	for _, p := range paths {
		state := "in use"
		if p.Retired {
			state = "retired"
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%.1f\t%s\t\n", p.Path, p.Sent, p.Acknowledged, p.Lost, p.RTTMicros, state)
	}
	t.Flush()
}
