package sweep

import (
	"context"
	"encoding/json"
	"fmt"
)

// Schema is the version of jobs and results on the wire.
const Schema = 1

// Job is one point of a sweep: everything that its run depends on.
type Job struct {
	Schema   int      `json:"schema"`
	Index    int      `json:"index"`
	Name     string   `json:"name"`     // of the scenario's file, for errors
	Scenario []byte   `json:"scenario"` // the file
	Settings []string `json:"settings"` // "key=value" each, in order
	Seed     uint64   `json:"seed"`
}

// Result is what came of a job.
type Result struct {
	Schema   int             `json:"schema"`
	Index    int             `json:"index"`
	Settings []string        `json:"settings"`
	Seed     uint64          `json:"seed"`
	Summary  json.RawMessage `json:"summary,omitempty"`
	Error    string          `json:"error,omitempty"` // why there is no summary
}

// Runner runs a job and returns its summary as JSON.
type Runner func(ctx context.Context, j Job) (json.RawMessage, error)

// Jobs makes the jobs of a grid: each point once for each seed.
func Jobs(name string, scenario []byte, g Grid, seeds []uint64) []Job {
	var jobs []Job
	for i := range g.Size() {
		for _, seed := range seeds {
			jobs = append(jobs, Job{Schema: Schema, Index: len(jobs), Name: name, Scenario: scenario, Settings: g.Point(i), Seed: seed})
		}
	}
	return jobs
}

// run lets a runner run a job. A job that cannot be run is a result too: the
// others are still worth having.
func run(ctx context.Context, runner Runner, j Job) Result {
	r := Result{Schema: Schema, Index: j.Index, Settings: j.Settings, Seed: j.Seed}
	if j.Schema != Schema {
		r.Error = fmt.Sprintf("the job has schema %d, this program knows %d", j.Schema, Schema)
		return r
	}
	summary, err := runner(ctx, j)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Summary = summary
	return r
}
