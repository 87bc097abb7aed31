package transport

import "testing"

// A path whose queue is longer than the others' is slow, not silent: as long as
// acknowledgements name it, what was sent much later by another path proves nothing.
// Here the queue of one path of 24 grows by half of what is sent there.
func TestMPSelectiveAllowsSlowPaths(t *testing.T) {
	const paths, rounds = 24, 80
	q := selectiveOn(t, paths, 1000, onPathsInTurn)
	for round := range rounds {
		q.write(paths) // packet n goes by path n % paths
		q.forget()
		q.advance(5 * mpRTT)
		for p := 1; p < paths; p++ {
			q.ack(round*paths + p)
		}
		if round%2 == 0 {
			q.ack(round / 2 * paths)
		}
		q.forget()
	}
	if lost := q.mp.Counters().Lost; lost != 0 {
		t.Errorf("%d packets of a slow path were taken for lost", lost)
	}
}
