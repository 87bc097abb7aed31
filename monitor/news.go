package monitor

import "time"

// newsEvery is how often those who wait are woken at most: a thousand hosts that join at once are one piece of news.
const newsEvery = 500 * time.Millisecond

// news wakes those who wait for something to happen.
type news struct {
	number uint64        // counts the wakings
	told   chan struct{} // closed by the next one
	last   time.Time
	due    *time.Timer // there is something to tell
}

// tell wakes those who wait for news, now or soon; the lock is held.
func (m *Monitor) tell() {
	n := &m.news
	if n.due != nil {
		return
	}
	if wait := newsEvery - time.Since(n.last); wait > 0 {
		n.due = time.AfterFunc(wait, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			n.wake()
		})
		return
	}
	n.wake()
}

func (n *news) wake() {
	n.due, n.last = nil, time.Now()
	n.number++
	close(n.told)
	n.told = make(chan struct{})
}

func (n *news) stop() {
	if n.due != nil {
		n.due.Stop()
	}
}

// newsAfter is closed with the next news; number counts those so far.
func (m *Monitor) newsAfter() (changed <-chan struct{}, number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.news.told, m.news.number
}
