package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// share is the part of a processor that assigning may take while hosts join one after another: a tenth.
const share = 10

// plan is the hosts as pinglists need them. It is made anew when hosts have changed, but not for each of thousands that join at once:
// who gets an older one is told soon (assignAll).
type plan struct {
	floor  *floor
	serial uint64
	made   time.Time
	took   time.Duration
}

// currentPlan makes a plan anew if hosts have changed; the lock is held.
func (m *Monitor) currentPlan(now time.Time, must bool) plan {
	p := &m.plan
	if p.floor == nil || p.serial != m.serial && (must || now.Sub(p.made) >= share*p.took) {
		begun := time.Now()
		*p = plan{floor: newFloor(m.sortedHosts()), serial: m.serial, made: now}
		p.took = time.Since(begun)
	}
	return *p
}

// sortedHosts are all hosts by name; the lock is held.
func (m *Monitor) sortedHosts() []Host {
	all := make([]Host, len(m.names))
	for i, name := range m.names {
		all[i] = m.hosts[name].Host
	}
	return all
}

// assignmentFor is what a host is to do now.
func (m *Monitor) assignmentFor(name string, now time.Time, must bool) *assignment {
	m.mu.Lock()
	p, k := m.currentPlan(now, must), m.hosts[name]
	var host Host
	if k != nil {
		host = k.Host
	}
	m.mu.Unlock()
	a := &assignment{Version: version, Serial: p.serial, Window: m.cfg.Window, Targets: []assigned{}}
	if k == nil {
		return a
	}
	list := m.cfg.Mesh.pinglist(host, p.floor, now) // which takes long: without the lock
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range list {
		a.Targets = append(a.Targets, assigned{t, m.hosts[t.Host].port})
	}
	return a
}

// task is what a host was told to do: it stays the same while the hosts and the hour do.
type task struct {
	digest string
	serial uint64
	hour   int64
}

func hourOf(at time.Time) int64 { return at.Unix() / 3600 }

// upToDate says whether the task of a host is still the one that it was last told.
func (m *Monitor) upToDate(name string, now time.Time) (task, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hosts[name]
	if k == nil {
		return task{}, false
	}
	return k.task, k.task.digest != "" && k.task.serial == m.serial && k.task.hour == hourOf(now)
}

// assignmentText is the assignment of a host as it is sent. Who has it is only told so, mostly without making it: a list has tens of KB, and
// agents introduce themselves each minute.
func (m *Monitor) assignmentText(name, have string) ([]byte, error) {
	now := time.Now()
	if t, ok := m.upToDate(name, now); ok && have == t.digest {
		return json.Marshal(&assignment{Version: version, Serial: t.serial, Window: m.cfg.Window, Digest: t.digest, Same: true})
	}
	a := m.assignmentFor(name, now, false)
	if err := a.sign(); err != nil {
		return nil, err
	}
	m.sent(name, a, now)
	if have == a.Digest {
		a.Targets, a.Same = nil, true
	}
	return json.Marshal(a)
}

// sign sets the digest.
func (a *assignment) sign() error {
	text, err := json.Marshal(struct {
		Window  time.Duration
		Targets []assigned
	}{a.Window, a.Targets})
	sum := sha256.Sum256(text)
	a.Digest = hex.EncodeToString(sum[:8])
	return err
}

// sent remembers what a host was told, and says whether it is new.
func (m *Monitor) sent(name string, a *assignment, now time.Time) (isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hosts[name]
	if k == nil {
		return false
	}
	isNew = k.task.digest != a.Digest
	k.task = task{a.Digest, a.Serial, hourOf(now)}
	return isNew
}

// assignAll tells agents what to do when hosts have come, and each hour.
func (m *Monitor) assignAll(ctx context.Context) {
	for {
		hour := time.Until(time.Now().Truncate(time.Hour).Add(time.Hour))
		timer := time.NewTimer(hour)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-m.changed:
			timer.Stop()
			if sleep(ctx, time.Second) != nil { // others may come at the same time
				return
			}
		}
		begun := time.Now()
		for _, h := range m.Hosts() {
			if ctx.Err() != nil {
				return
			}
			if err := m.assign(h.Name); err != nil {
				m.cfg.Log.Warn("an agent is not told", "host", h.Name, "error", err)
			}
		}
		if sleep(ctx, (share-1)*time.Since(begun)) != nil {
			return
		}
	}
}

// assign tells one agent what to do, if that has changed.
func (m *Monitor) assign(name string) error {
	now := time.Now()
	if _, ok := m.upToDate(name, now); ok {
		return nil
	}
	a := m.assignmentFor(name, now, true)
	if err := a.sign(); err != nil || !m.sent(name, a, now) {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return m.nats.Publish(subjectAssign+token(name), text)
}
