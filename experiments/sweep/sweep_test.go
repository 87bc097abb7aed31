package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// echo is a runner whose summary names the job.
func echo(_ context.Context, j Job) (json.RawMessage, error) {
	if strings.HasSuffix(j.Settings[0], "=bad") {
		return nil, errors.New("cannot be run")
	}
	return json.Marshal(fmt.Sprint(j.Settings, j.Seed, string(j.Scenario)))
}

func testJobs(t *testing.T) []Job {
	t.Helper()
	g, err := ParseGrid([]string{"a=1,2,bad", "b=x,y"})
	if err != nil {
		t.Fatal(err)
	}
	jobs := Jobs("test.yaml", []byte("name: test"), g, []uint64{7, 8})
	if len(jobs) != 12 {
		t.Fatalf("%d jobs, want 12", len(jobs))
	}
	return jobs
}

func TestGridRefusesWhatItCannotRead(t *testing.T) {
	many := "x=" + strings.Repeat("1,", 999) + "1"
	for _, texts := range [][]string{{"a"}, {"=1"}, {"a="}, {"a=1,,2"}, {"a=1", "a=2"}, {many, "y" + many[1:]}} {
		if _, err := ParseGrid(texts); !errors.Is(err, ErrGrid) {
			t.Errorf("%.40q: %v", texts, err)
		}
	}
}

func TestPointsAreAllCombinations(t *testing.T) {
	g, err := ParseGrid([]string{"a=1,2", "b=x,y,z"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range g.Size() {
		got = append(got, strings.Join(g.Point(i), " "))
	}
	want := []string{"a=1 b=x", "a=1 b=y", "a=1 b=z", "a=2 b=x", "a=2 b=y", "a=2 b=z"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("points %q, want %q", got, want)
	}
}

func TestLocalAnswersInOrder(t *testing.T) {
	jobs := testJobs(t)
	results, err := Local(t.Context(), jobs, echo, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkResults(t, jobs, results)
}

func checkResults(t *testing.T, jobs []Job, results []Result) {
	t.Helper()
	for i, r := range results {
		want := run(t.Context(), echo, jobs[i])
		if !reflect.DeepEqual(r, want) {
			t.Errorf("result %d is %+v, want %+v", i, r, want)
		}
	}
}

// Three workers share the queue; one of them dies with its first job, which
// another then does.
func TestQueueGivesTheSameResults(t *testing.T) {
	server, err := StartServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	jobs := testJobs(t)
	dying, die := context.WithCancel(t.Context())
	var died atomic.Bool
	fragile := func(ctx context.Context, j Job) (json.RawMessage, error) {
		if died.CompareAndSwap(false, true) {
			die()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return echo(ctx, j)
	}
	working, stop := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	go func() { ended <- Work(dying, server.URL(), fragile) }()
	for range 2 {
		go func() {
			for !died.Load() { // the fragile one gets the first job
				time.Sleep(time.Millisecond)
			}
			ended <- Work(working, server.URL(), echo)
		}()
	}
	results, err := Queue(t.Context(), server.URL(), jobs, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkResults(t, jobs, results)
	stop()
	for range 3 {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestServerSaysWhatIsWrong(t *testing.T) {
	for _, address := range []string{"nowhere", "127.0.0.1:x", "127.0.0.1:99999"} {
		if _, err := StartServer(address); !errors.Is(err, ErrServer) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := Queue(t.Context(), "nats://127.0.0.1:1", nil, nil); !errors.Is(err, ErrNATS) {
		t.Errorf("nobody listens: %v", err)
	}
}
