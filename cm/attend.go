package cm

import (
	"context"

	"github.com/braid-rdma/braid/verbs"
)

// A program that polls the device for all that it waits for, as package braid does, may do the work of the manager's loop as
// well. Then no thread is woken between a datagram that arrives and who waits for it:
//
//	m.Attend(cq)
//	cq.WaitProgress(ctx, until)     // until is also ready when m.Ready
//	if m.Ready() { m.Step() }
//	m.Leave()

// Attend keeps the loop asleep when datagrams come, until Leave: the caller takes them by Step. It returns false, and there is
// nothing to leave, where WaitProgress of the queue does not receive them.
func (m *Manager) Attend(waits *verbs.CQ) bool { return m.agent.cq.Attend(waits) }

// Leave ends Attend. The loop takes what is left.
func (m *Manager) Leave() { m.agent.cq.Leave() }

// Ready says whether there is something for Step. The loop keeps a crowd for itself.
func (m *Manager) Ready() bool { return m.agent.cq.Ready() && !m.aside.Load() }

// Step takes datagrams that have come, in place of the loop.
func (m *Manager) Step() {
	if err := m.step(); err != nil {
		m.closeAll(err)
	}
}

// waitFor waits until one of two channels is closed; it returns its place, or sched.Ended if ctx ends first.
func (m *Manager) waitFor(ctx context.Context, a, b <-chan struct{}) int {
	if m.await != nil && !m.runtime.Virtual() {
		m.await(ctx, a, b)
	}
	return m.runtime.Select(ctx, a, b)
}
