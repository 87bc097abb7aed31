package fuzz

import (
	"fmt"

	"github.com/braid-rdma/braid/sim"
)

// Failure is a broken promise.
type Failure struct {
	Seed    uint64
	At      sim.Time // when it was noticed
	Event   uint64   // how many events had happened
	Message string   // what broke

	sc    *scenario
	plant sabotage
}

// Run lets the scenario of a seed happen and returns the promise that it breaks,
// or nil.
func Run(seed uint64) *Failure { return runPlanted(seed, nil) }

// runPlanted is Run with a bug planted.
func runPlanted(seed uint64, plant sabotage) *Failure {
	sc, err := newScenario(seed)
	if err != nil {
		return &Failure{Seed: seed, Message: fmt.Sprintf("the scenario cannot be made: %v", err), sc: &scenario{seed: seed}}
	}
	f := run(sc, plant)
	if f != nil {
		f.plant = plant
	}
	return f
}

func (w *world) failure(message string) *Failure {
	f := &Failure{Seed: w.sc.seed, Event: w.events, Message: message, sc: w.sc}
	if w.net != nil {
		f.At = w.net.Now()
	}
	return f
}

// Error says what broke and when, and how to see it again.
func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d, at %v, event %d: %s\nreplay: %s", f.Seed, f.At, f.Event, f.Message, f.Replay())
}

// Replay is the command that shows the failure again.
func (f *Failure) Replay() string { return fmt.Sprintf("braid sim fuzz --seed %d", f.Seed) }

// Scenario describes what happened, as far as it has been cut down.
func (f *Failure) Scenario() string {
	if f.sc.fabric == nil {
		return ""
	}
	return f.sc.describe()
}

// Size is how much of a scenario is left: its operations and faults.
func (f *Failure) Size() (operations, faults int) { return f.sc.operations(), len(f.sc.faults) }
