package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim"
)

func mustRun(t testing.TB, s *Scenario) *Run {
	t.Helper()
	r, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Go(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// outcome is all of a run that must not depend on the machine.
func outcome(r *Run) string {
	var b strings.Builder
	for _, f := range r.Flows {
		fmt.Fprintf(&b, "%+v\n", f.Result())
	}
	for _, l := range r.Net.Links() {
		fmt.Fprintf(&b, "%+v\n", l)
	}
	fmt.Fprintln(&b, r.Samples.Times, r.Now(), r.Net.Hops())
	for _, s := range r.Samples.Series {
		fmt.Fprintln(&b, s.Metric, s.Subject, s.Values)
	}
	for _, name := range sortedKeys(r.Degrees) {
		fmt.Fprintln(&b, name, r.Degrees[name].Counts())
	}
	return b.String()
}

func TestRunIsDeterministic(t *testing.T) {
	s := mustParse(t, small)
	want := outcome(mustRun(t, s))
	if got := outcome(mustRun(t, s)); got != want {
		t.Errorf("a second run differs:\n%s\n%s", got, want)
	}
	for _, change := range []string{"workers=2", "workers=3"} {
		if err := s.Set(change); err != nil {
			t.Fatal(err)
		}
		if got := outcome(mustRun(t, s)); got != want {
			t.Errorf("with %s the run differs:\n%s\n%s", change, got, want)
		}
	}
	if err := s.Set("workers=1", "seed=2"); err != nil {
		t.Fatal(err)
	}
	if outcome(mustRun(t, s)) == want {
		t.Error("another seed changes nothing")
	}
}

func TestRunEnds(t *testing.T) {
	r := mustRun(t, mustParse(t, small))
	last := sim.Time(0)
	for _, f := range r.Flows {
		result := f.Result()
		if !result.Done() || result.ID != f.Number {
			t.Errorf("flow %d: %+v", f.Number, result)
		}
		last = max(last, result.Finished)
	}
	if !r.Complete || r.Now() < last || r.Now() > last+slice {
		t.Errorf("the run ended at %v, the last flow at %v", r.Now(), last)
	}
}

func TestRunWithEndlessFlow(t *testing.T) {
	s := mustParse(t, small)
	if err := s.Set("workload[0].bytes=0", "duration=305us"); err != nil {
		t.Fatal(err)
	}
	r := mustRun(t, s)
	if !r.Complete || r.Now() != 305*sim.Microsecond {
		t.Errorf("the run ended at %v", r.Now())
	}
	if n := len(r.Samples.Times); n != 15 {
		t.Errorf("%d samples in 305 µs, one every 20", n)
	}
	if r.Flows[0].Acked() == 0 {
		t.Error("an endless flow shows no progress")
	}
}

// TestFailedFlowEndsRun: a flow whose path is cut for good fails, and the run
// does not wait for it until the end of its duration.
func TestFailedFlowEndsRun(t *testing.T) {
	s := mustParse(t, small)
	err := s.Set("duration=1s", "measure={}", "faults=[{link: h2-tor0, down: true}]",
		"transports.rc.ack-timeout=4", "transports.rc.retry=2")
	if err != nil {
		t.Fatal(err)
	}
	r := mustRun(t, s)
	if result := r.Flows[2].Result(); result.Err == nil || result.Done() {
		t.Errorf("got %+v", result)
	}
	if !r.Complete || r.Now() > 100*sim.Millisecond {
		t.Errorf("the run went on until %v", r.Now())
	}
}

func TestCancel(t *testing.T) {
	s := mustParse(t, small)
	want := outcome(mustRun(t, s))
	r, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if err := r.Go(ctx, nil); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
	if r.Complete || r.Now() != 0 {
		t.Errorf("a cancelled run reached %v", r.Now())
	}
	r.advance()
	if err := r.Go(ctx, nil); !errors.Is(err, cause) || r.Now() != slice {
		t.Errorf("got %v at %v", err, r.Now())
	}
	if err := r.Go(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if got := outcome(r); got != want {
		t.Errorf("a run that was interrupted differs:\n%s\n%s", got, want)
	}
}

// TestStartRefuses: what only the simulator can judge is still an error with its
// place.
func TestStartRefuses(t *testing.T) {
	s := mustParse(t, `topology: {kind: testbed}
transport: {kind: mp, qps: 2}
workload: [{kind: ring-all-reduce, bytes: 1MB}]`)
	_, err := s.Start()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, sim.ErrConfig) || e.Field != "transports.default" || e.Line != 2 {
		t.Errorf("got %v", err)
	}
}

func TestProgress(t *testing.T) {
	r, err := mustParse(t, small).Start()
	if err != nil {
		t.Fatal(err)
	}
	var last Progress
	if err := r.Go(context.Background(), func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if last.Share != 1 || last.Simulated != r.Now() || last.HopsPerSecond <= 0 || last.Left != 0 {
		t.Errorf("the last report is %+v", last)
	}
	if r.Wall <= 0 {
		t.Error("no time has passed")
	}
}

func TestSamples(t *testing.T) {
	r := mustRun(t, mustParse(t, small))
	for _, metric := range []string{MetricGoodput, MetricWindow, MetricInFlight, MetricRTT, MetricOutOfOrder, MetricMaxDegree} {
		series := r.Samples.Find(metric, SubjectFlow(0))
		if series == nil || len(series.Values) != len(r.Samples.Times) {
			t.Errorf("%s: got %v", metric, series)
		}
	}
	if r.Samples.Find(MetricQueue, "tor0-path1>") == nil || r.Samples.Find(MetricQueue, "tor0-path1<") != nil {
		t.Error("a link's name means the queue from its first end to its second")
	}
	moved := 0.0
	for _, v := range r.Samples.Find(MetricGoodput, SubjectAll).Values {
		moved += v * (20 * sim.Microsecond).Seconds() / 8
	}
	// What the last flows move after the last sample is missing.
	if moved < 100_000 || moved > 250_001 {
		t.Errorf("the series adds up to %.0f bytes of 250000", moved)
	}
	if d := r.Degrees["mp"]; d == nil || len(d.Counts()) == 0 || d.Quantile(1) != len(d.Counts())-1 {
		t.Errorf("got degrees %v", r.Degrees)
	}
}

func TestFaultsChangeTheRun(t *testing.T) {
	lost := func(set ...string) (n uint64) {
		s := mustParse(t, small)
		if err := s.Set(set...); err != nil {
			t.Fatal(err)
		}
		for _, l := range mustRun(t, s).Net.Links() {
			n += l.Lost
		}
		return n
	}
	if n := lost("faults=[]"); n != 0 {
		t.Errorf("healthy links lost %d packets", n)
	}
	if n := lost("faults=[{link: 'tor0-path*', loss: 0.1}]"); n == 0 {
		t.Error("lossy links lost nothing")
	}
	once := lost("faults=[{link: h0-tor0, at: 10us, until: 12us, down: true}]")
	often := lost("faults=[{link: h0-tor0, at: 10us, down: true, flap: {period: 10us, held: 2us, times: 5}}]")
	if once == 0 || often <= once {
		t.Errorf("a cut lost %d packets, five of them %d", once, often)
	}
}

// TestSlowReceiversChangeTheRun stops host 5 for 1 ms, which its flow then takes longer.
func TestSlowReceiversChangeTheRun(t *testing.T) {
	run := func(set ...string) (finished sim.Time, pauses uint64) {
		s := mustParse(t, small)
		if err := s.Set(append(set, "faults=[]")...); err != nil {
			t.Fatal(err)
		}
		r := mustRun(t, s)
		for _, l := range r.Net.Links() {
			if l.To == "h5" {
				pauses += l.Pauses
			}
		}
		return r.Flows[0].Result().Finished, pauses
	}
	fast, none := run()
	slow, some := run("receivers=[{host: 5, at: 1us, until: 1001us, xoff: 2KB}]")
	if none != 0 || some != 1 || slow < sim.Millisecond || slow > fast+sim.Millisecond+100*sim.Microsecond {
		t.Errorf("the flow ended at %v with %d pauses, with a slow receiver at %v with %d", fast, none, slow, some)
	}
}

func TestChanges(t *testing.T) {
	f := Fault{At: 10, Flap: &Flap{Period: 100, Times: 3}}
	if got, want := fmt.Sprint(f.changes()), fmt.Sprint([]change{{10, false}, {60, true}, {110, false}, {160, true}, {210, false}, {260, true}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLinkMarking(t *testing.T) {
	marked := func(set ...string) (n uint64) {
		s := mustParse(t, small)
		if err := s.Set(append(set, "fabric.ecn=none", "faults=[]", "workload[0].bytes=2MB")...); err != nil {
			t.Fatal(err)
		}
		for _, l := range mustRun(t, s).Net.Links() {
			n += l.Marked
		}
		return n
	}
	if n := marked(); n != 0 {
		t.Errorf("%d marks without marking", n)
	}
	if n := marked("fabric.links={tor0-path1: {ecn: {kmin: 1KB, kmax: 1KB}, direction: forth}, tor0-path2: {ecn: {kmin: 1KB, kmax: 1KB}}}"); n == 0 {
		t.Error("a link with a marking of its own marks nothing")
	}
}
