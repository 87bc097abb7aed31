package machine

import (
	"errors"
	"testing"
)

// TestWorkIsPolledToTheEnd: when PollWork says that there is none, there is none, also when
// what it came across was not worth repeating.
func TestWorkIsPolledToTheEnd(t *testing.T) {
	m := New(Config{Lanes: 2, Chunk: 10, Depth: 1, Balancer: RoundRobin()})
	m.HandleUp(0)
	m.HandleUp(1)
	m.Post(Send, 20)
	if _, err := m.HandleHeader(&Header{Kind: HeaderAnnounce, Target: Target{Length: 20}}, 0); err != nil {
		t.Fatal(err)
	}
	first, _ := m.PollWork(1)
	second, _ := m.PollWork(1)
	m.HandleDone(2, first.Tag, PathLost, nil)
	m.HandleFenced(first.Lane)
	m.HandleDone(2, second.Tag, Refused, errors.New("refused"))
	w, ok := m.PollWork(3)
	if !ok || w.Kind != Message || w.Header.Kind != HeaderFailed {
		t.Errorf("got %+v, %v, want the message of the failure", w, ok)
	}
}
