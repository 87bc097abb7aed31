package full

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/scenario"
)

// simProgress shows how far long work has come: in place on a terminal, as a line
// now and then elsewhere, and not at all for programs that want JSON.
type simProgress struct {
	w        io.Writer // nil: silent
	inPlace  bool
	interval time.Duration

	mu    sync.Mutex
	next  time.Time
	shown bool
}

// Work that is over sooner needs no progress.
const (
	progressInPlace = 200 * time.Millisecond
	progressLines   = 5 * time.Second
)

func newSimProgress(cmd *cobra.Command, silent bool) *simProgress {
	w := cmd.ErrOrStderr()
	p := &simProgress{w: w, inPlace: cli.IsTerminal(w), interval: progressLines}
	if p.inPlace {
		p.interval = progressInPlace
	}
	if silent && !p.inPlace {
		p.w = nil
	}
	p.next = time.Now().Add(p.interval)
	return p
}

// say shows a line if one is due.
func (p *simProgress) say(line func() string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.interval)
	p.shown = true
	if p.inPlace {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line())
		return
	}
	fmt.Fprintln(p.w, line())
}

// show shows the progress of one simulation.
func (p *simProgress) show(s scenario.Progress) {
	p.say(func() string {
		line := fmt.Sprintf("%3.0f %%  %v simulated, %.2f M hops/s", 100*s.Share, s.Simulated, s.HopsPerSecond/1e6)
		if s.Left >= 0 {
			line += fmt.Sprintf(", %v left", s.Left.Round(time.Second))
		}
		return line
	})
}

// share shows how much of some work is done.
func (p *simProgress) share(what string, began time.Time) func(float64) {
	return func(share float64) {
		p.say(func() string {
			line := fmt.Sprintf("%s: %3.0f %%", what, 100*share)
			if share > 0.02 {
				spent := time.Since(began)
				line += fmt.Sprintf(", %v left", time.Duration(float64(spent)*(1-share)/share).Round(time.Second))
			}
			return line
		})
	}
}

// end clears the line.
func (p *simProgress) end() {
	if p.w != nil && p.inPlace && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
