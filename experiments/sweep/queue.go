package sweep

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names in NATS. A job is taken out of the work queue when its result has
// been stored, so one whose worker died is given to another after ackWait.
const (
	jobStream      = "braid-sweep-jobs"
	jobSubject     = "braid.sweep.jobs"
	resultStream   = "braid-sweep-results"
	resultSubjects = "braid.sweep.results"
	workerName     = "braid-sweep-workers"

	ackWait     = 30 * time.Second
	maxDeliver  = 5
	maxAge      = 24 * time.Hour
	fetchWait   = 2 * time.Second
	connectTime = 5 * time.Second
)

// ErrNATS is wrapped by every failure to talk to the NATS server.
var ErrNATS = errors.New("sweep: NATS")

// message is a job in the queue, with the sweep that it belongs to.
type message struct {
	Sweep string `json:"sweep"`
	Job   Job    `json:"job"`
}

// connect reaches the server and makes sure that the streams exist.
func connect(ctx context.Context, url string) (*nats.Conn, jetstream.JetStream, error) {
	conn, err := nats.Connect(url, nats.Timeout(connectTime), nats.Name("braid sim sweep"))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: cannot reach %s: %w", ErrNATS, url, err)
	}
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: jobStream, Subjects: []string{jobSubject}, Retention: jetstream.WorkQueuePolicy, MaxAge: maxAge,
		})
	}
	if err == nil {
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: resultStream, Subjects: []string{resultSubjects + ".>"}, MaxAge: maxAge,
		})
	}
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("%w: %s has no JetStream for us: %w", ErrNATS, url, err)
	}
	return conn, js, nil
}

// Queue hands the jobs to the workers of the server at url and returns their
// results in order. It computes nothing itself.
func Queue(ctx context.Context, url string, jobs []Job, progress func(share float64)) ([]Result, error) {
	conn, js, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	sweep := rand.Text()
	results, err := js.OrderedConsumer(ctx, resultStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{resultSubjects + "." + sweep}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNATS, err)
	}
	for _, j := range jobs {
		body, err := json.Marshal(message{sweep, j})
		if err != nil {
			return nil, err
		}
		if _, err := js.Publish(ctx, jobSubject, body, jetstream.WithMsgID(sweep+"-"+strconv.Itoa(j.Index))); err != nil {
			return nil, fmt.Errorf("%w: publish job %d: %w", ErrNATS, j.Index, err)
		}
	}
	return gather(ctx, results, len(jobs), progress)
}

// gather waits until there is a result for each job.
func gather(ctx context.Context, consumer jetstream.Consumer, n int, progress func(float64)) ([]Result, error) {
	results := make([]Result, n)
	have := make([]bool, n)
	for done := 0; done < n; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		batch, err := consumer.Fetch(64, jetstream.FetchMaxWait(fetchWait))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNATS, err)
		}
		for m := range batch.Messages() {
			var r Result
			if err := json.Unmarshal(m.Data(), &r); err != nil || r.Index < 0 || r.Index >= n {
				return nil, fmt.Errorf("%w: a worker answered something else than a result", ErrNATS)
			}
			if have[r.Index] {
				continue
			}
			have[r.Index], results[r.Index] = true, r
			done++
			if progress != nil {
				progress(float64(done) / float64(n))
			}
		}
	}
	return results, nil
}

// Work takes jobs from the server at url, one at a time, until ctx ends. Several
// workers, here and on other machines, share the queue.
func Work(ctx context.Context, url string, runner Runner) error {
	conn, js, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close()
	consumer, err := js.CreateOrUpdateConsumer(ctx, jobStream, jetstream.ConsumerConfig{
		Durable: workerName, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: maxDeliver,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNATS, err)
	}
	for ctx.Err() == nil {
		batch, err := consumer.Fetch(1, jetstream.FetchMaxWait(fetchWait))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNATS, err)
		}
		for m := range batch.Messages() {
			if err := serve(ctx, js, m, runner); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve runs one job and stores its result before the job leaves the queue.
func serve(ctx context.Context, js jetstream.JetStream, m jetstream.Msg, runner Runner) error {
	var job message
	if err := json.Unmarshal(m.Data(), &job); err != nil {
		return m.Term() // nobody will ever understand it
	}
	stop := keepAlive(m)
	result := run(ctx, runner, job.Job)
	stop()
	if ctx.Err() != nil {
		_ = m.Nak() // another worker may begin at once
		return nil
	}
	body, err := json.Marshal(result)
	if err != nil {
		return err
	}
	id := job.Sweep + "-" + strconv.Itoa(job.Job.Index)
	if _, err := js.Publish(ctx, resultSubjects+"."+job.Sweep, body, jetstream.WithMsgID(id)); err != nil {
		return fmt.Errorf("%w: publish a result: %w", ErrNATS, err)
	}
	return m.Ack()
}

// keepAlive tells the server that the job is being worked on, until stopped.
func keepAlive(m jetstream.Msg) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(ackWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = m.InProgress()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
