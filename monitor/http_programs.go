package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braid-rdma/braid/operate"
)

const (
	// shownPrograms is of how many programs of a host a page shows the devices, and shownPairs how many queue pairs of each: the busiest.
	shownPrograms = 32
	shownPairs    = 16
	// shownSlow is how many slow events of a host it shows, the latest.
	shownSlow = 100
	// programTime is how long a program may take to respond, beside the time for which evidence is gathered, and maxFor how long that may be.
	programTime = 10 * time.Second
	minFor      = 50 * time.Millisecond
	maxFor      = 10 * time.Second
	// freshTime is how old a reply may be that several pages share.
	freshTime = time.Second
)

// programRoutes are what can be asked of programs.
func (p *Page) programRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/host/{host}/programs", p.shared(p.programs))
	mux.HandleFunc("GET /api/host/{host}/slow", p.shared(p.slow))
	mux.HandleFunc("GET /api/host/{host}/parameters", p.shared(p.hostParameters))
	const program = "/api/host/{host}/program/{program}"
	mux.HandleFunc("GET "+program, p.shared(p.device))
	mux.HandleFunc("GET "+program+"/qp", p.shared(p.queuePair))
	mux.HandleFunc("GET "+program+"/why", p.shared(p.why))
	mux.HandleFunc("GET "+program+"/history", p.shared(p.history))
	mux.HandleFunc("GET "+program+"/traces", p.shared(p.traces))
	mux.HandleFunc("GET "+program+"/parameters", p.reader(p.parameters))
	mux.HandleFunc("POST "+program+"/parameters", p.operator(p.setParameters))
	mux.HandleFunc("POST "+program+"/rollback", p.operator(p.rollBack))
}

// subject is what a request is about.
type subject struct {
	host    string
	program ProgramID // zero: the host
	qpn     uint32    // zero: the program
	took    time.Duration
}

// subjectOf reads it from the address of a request.
func (p *Page) subjectOf(r *http.Request) (s subject, err error) {
	s.host = r.PathValue("host")
	if !p.monitor.knows(s.host) {
		return s, fail(http.StatusNotFound, "no agent of host %q has joined", s.host)
	}
	if text := r.PathValue("program"); text != "" {
		pid, number, ok := strings.Cut(text, ".")
		var wrong [2]error
		s.program.PID, wrong[0] = strconv.Atoi(pid)
		s.program.Number, wrong[1] = strconv.Atoi(number)
		if !ok || wrong[0] != nil || wrong[1] != nil || s.program.PID <= 0 || s.program.Number <= 0 {
			return s, fail(http.StatusBadRequest, "program %q: want the process and a number, as 1234.1", text)
		}
	}
	if text := r.URL.Query().Get("qp"); text != "" {
		n, err := strconv.ParseUint(text, 0, 24)
		if err != nil {
			return s, fail(http.StatusBadRequest, "queue pair %q: want a number of 24 bits", text)
		}
		s.qpn = uint32(n)
	}
	s.took = time.Second
	if text := r.URL.Query().Get("for"); text != "" {
		if s.took, err = time.ParseDuration(text); err != nil || s.took < minFor || s.took > maxFor {
			return s, fail(http.StatusBadRequest, "for=%q: want %v to %v", text, minFor, maxFor)
		}
	}
	return s, nil
}

// knows says whether a host has joined.
func (m *Monitor) knows(host string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hosts[host] != nil
}

// shared is for what several pages may look at together.
func (p *Page) shared(find func(context.Context, subject) (any, error)) http.HandlerFunc {
	return p.reader(func(r *http.Request, _ visitor) (any, error) {
		s, err := p.subjectOf(r)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprintf("%s %+v", r.Pattern, s)
		return p.asking.share(r.Context(), key, freshTime, func(ctx context.Context) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, s.took+programTime)
			defer cancel()
			return find(ctx, s)
		})
	})
}

// ask does something with a program when it is its host's turn.
func (p *Page) ask(ctx context.Context, s subject, changes bool, do func(context.Context, *operate.Program) error) error {
	end, err := p.asking.turn(ctx, s.host)
	if err != nil {
		return err
	}
	defer end()
	return do(ctx, p.monitor.Client(changes).Program(s.host, s.program))
}

// read asks a program for something.
func read[T any](ctx context.Context, p *Page, s subject, get func(context.Context, *operate.Program) (T, error)) (result T, err error) {
	err = p.ask(ctx, s, false, func(ctx context.Context, program *operate.Program) error {
		result, err = get(ctx, program)
		return err
	})
	return result, err
}

// ofEach asks several programs of a host the same, a few at a time, and waits for all of them.
func (p *Page) ofEach(ctx context.Context, s subject, programs []*operate.Program, do func(ctx context.Context, i int, program *operate.Program) error) []error {
	errs := make([]error, len(programs))
	var asked sync.WaitGroup
	for i, program := range programs {
		one := subject{host: s.host, program: ProgramID{program.PID, program.Number}}
		asked.Go(func() {
			errs[i] = p.ask(ctx, one, false, func(ctx context.Context, program *operate.Program) error { return do(ctx, i, program) })
		})
	}
	asked.Wait()
	return errs
}

// list asks for the programs of a host.
func (p *Page) list(ctx context.Context, host string) (some []*operate.Program, left int, err error) {
	end, err := p.asking.turn(ctx, host)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	all, err := p.monitor.Client(false).Programs(ctx, host)
	slices.SortFunc(all, func(a, b *operate.Program) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), a.PID-b.PID, a.Number-b.Number)
	})
	shown := min(len(all), shownPrograms)
	return all[:shown], len(all) - shown, err
}

// pageProgram is a program as a page shows it.
type pageProgram struct {
	operate.Identity
	Device *operate.Device `json:"device,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// programs are those of a host, with their busiest queue pairs.
func (p *Page) programs(ctx context.Context, s subject) (any, error) {
	all, left, err := p.list(ctx, s.host)
	if err != nil {
		return nil, err
	}
	shown := make([]pageProgram, len(all))
	for i, err := range p.ofEach(ctx, s, all, func(ctx context.Context, i int, program *operate.Program) (err error) {
		shown[i].Device, err = program.Busiest(ctx, shownPairs)
		return err
	}) {
		shown[i].Identity = all[i].Identity
		if err != nil {
			shown[i].Device, shown[i].Error = nil, err.Error()
		}
	}
	return map[string]any{"host": s.host, "programs": shown, "left_out": left}, nil
}

// slowEvent is a slow poll or phase of a program.
type slowEvent struct {
	Program operate.Identity `json:"program"`
	Slow    json.RawMessage  `json:"slow"`
	at      time.Time
}

// slow are the slow polls and phases of the programs of a host, the latest first.
func (p *Page) slow(ctx context.Context, s subject) (any, error) {
	all, left, err := p.list(ctx, s.host)
	if err != nil {
		return nil, err
	}
	found := make([][]slowEvent, len(all))
	errs := p.ofEach(ctx, s, all, func(ctx context.Context, i int, program *operate.Program) error {
		traces, err := program.Traces(ctx)
		for _, text := range traces.Slow {
			var when struct {
				At time.Time `json:"at"`
			}
			if json.Unmarshal(text, &when) == nil {
				found[i] = append(found[i], slowEvent{all[i].Identity, text, when.At})
			}
		}
		return err
	})
	silent := 0
	for _, err := range errs {
		if err != nil {
			silent++
		}
	}
	events := slices.Concat(found...)
	slices.SortStableFunc(events, func(a, b slowEvent) int { return b.at.Compare(a.at) })
	return map[string]any{"slow": append([]slowEvent{}, events[:min(len(events), shownSlow)]...), "left_out": left + silent}, nil
}

// programValues are the parameters of one of several programs.
type programValues struct {
	operate.Identity
	Values map[string]string `json:"values,omitempty"`
	Error  string            `json:"error,omitempty"`
}

// hostParameters are those of all programs of a host, side by side.
func (p *Page) hostParameters(ctx context.Context, s subject) (any, error) {
	all, left, err := p.list(ctx, s.host)
	if err != nil {
		return nil, err
	}
	shown := make([]programValues, len(all))
	for i, err := range p.ofEach(ctx, s, all, func(ctx context.Context, i int, program *operate.Program) error {
		parameters, err := program.Parameters(ctx)
		shown[i].Values = map[string]string{}
		for _, one := range parameters {
			shown[i].Values[one.Name] = one.Value
		}
		return err
	}) {
		shown[i].Identity = all[i].Identity
		if err != nil {
			shown[i].Error = err.Error()
		}
	}
	return map[string]any{"programs": shown, "left_out": left}, nil
}

// device is a program with the busiest of its queue pairs.
func (p *Page) device(ctx context.Context, s subject) (any, error) {
	return read(ctx, p, s, func(ctx context.Context, program *operate.Program) (*operate.Device, error) {
		return program.Busiest(ctx, 4*shownPairs)
	})
}

// queuePair is a queue pair as it is now.
func (p *Page) queuePair(ctx context.Context, s subject) (any, error) {
	return read(ctx, p, s, func(ctx context.Context, program *operate.Program) (any, error) {
		q, at, err := program.QueuePair(ctx, s.qpn)
		if err == nil && q == nil {
			err = fail(http.StatusNotFound, "the program has no queue pair %d any more", s.qpn)
		}
		return map[string]any{"at": at, "queue_pair": q}, err
	})
}

// why is evidence of what limits a program, or one of its queue pairs, and what it says in plain words.
func (p *Page) why(ctx context.Context, s subject) (any, error) {
	return read(ctx, p, s, func(ctx context.Context, program *operate.Program) (any, error) {
		var only []uint32
		if s.qpn != 0 {
			only = []uint32{s.qpn}
		}
		e, err := program.GatherOf(ctx, s.took, operate.Selection{QueuePairs: only})
		if err != nil {
			return nil, err
		}
		return map[string]any{"evidence": e, "findings": append([]operate.Finding{}, e.Explain()...)}, nil
	})
}

// history is the last hour of a queue pair, by its agent.
func (p *Page) history(ctx context.Context, s subject) (any, error) {
	end, err := p.asking.turn(ctx, s.host)
	if err != nil {
		return nil, err
	}
	defer end()
	return p.monitor.Client(false).History(ctx, s.host, s.program, s.qpn)
}

// traces are those that a program has kept.
func (p *Page) traces(ctx context.Context, s subject) (any, error) {
	return read(ctx, p, s, func(ctx context.Context, program *operate.Program) (*operate.Traces, error) {
		return program.Traces(ctx)
	})
}

// parameters are those of a program with what was changed.
func (p *Page) parameters(r *http.Request, _ visitor) (any, error) {
	s, ctx, cancel, err := p.direct(r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return read(ctx, p, s, func(ctx context.Context, program *operate.Program) (any, error) {
		all, err := program.Parameters(ctx)
		if err != nil {
			return nil, err
		}
		history, err := program.History(ctx)
		return map[string]any{"parameters": append([]operate.Parameter{}, all...), "history": append([]operate.Change{}, history...)}, err
	})
}

// direct is for requests that are not shared.
func (p *Page) direct(r *http.Request) (subject, context.Context, context.CancelFunc, error) {
	s, err := p.subjectOf(r)
	ctx, cancel := context.WithTimeout(r.Context(), programTime)
	if err != nil {
		cancel()
	}
	return s, ctx, cancel, err
}

// setParameters changes some, or says whether it could.
func (p *Page) setParameters(r *http.Request, v visitor) (any, error) {
	var q struct {
		Values map[string]string `json:"values"`
		DryRun bool              `json:"dry_run"`
	}
	if err := readJSON(r, &q); err != nil {
		return nil, err
	}
	if len(q.Values) == 0 {
		return nil, fail(http.StatusBadRequest, "no values")
	}
	return p.change(r, func(ctx context.Context, program *operate.Program) (*operate.Change, error) {
		return program.Set(ctx, q.Values, v.By, q.DryRun)
	})
}

// rollBack undoes a change.
func (p *Page) rollBack(r *http.Request, v visitor) (any, error) {
	var q struct {
		Change int `json:"change"` // 0: the last one
	}
	if err := readJSON(r, &q); err != nil {
		return nil, err
	}
	return p.change(r, func(ctx context.Context, program *operate.Program) (*operate.Change, error) {
		return program.RollBack(ctx, q.Change, v.By)
	})
}

// change lets an operator change a program. The monitor notes it as an event, as it does with all changes.
func (p *Page) change(r *http.Request, do func(context.Context, *operate.Program) (*operate.Change, error)) (result *operate.Change, err error) {
	s, ctx, cancel, err := p.direct(r)
	if err != nil {
		return nil, err
	}
	defer cancel()
	err = p.ask(ctx, s, true, func(ctx context.Context, program *operate.Program) error {
		// Only agents take what reads, so that one that is away is known at once; of changes the monitor is told as well.
		if _, err := program.History(ctx); err != nil {
			return err
		}
		result, err = do(ctx, program)
		return err
	})
	return result, err
}
