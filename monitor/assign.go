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

// current makes a plan anew if hosts have changed; the lock is held.
func (m *Monitor) currentPlan(now time.Time, must bool) plan {
	p := &m.plan
	if p.floor == nil || p.serial != m.serial && (must || now.Sub(p.made) >= share*p.took) {
		*p = plan{floor: newFloor(m.sortedHosts()), serial: m.serial, made: now}
		p.took = time.Since(now)
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
func (m *Monitor) assignmentFor(name string, must bool) *assignment {
	m.mu.Lock()
	now := time.Now()
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

// assignmentText is the assignment of a host as it is sent. Who has it is only told so: a list has tens of KB, and agents introduce
// themselves each minute.
func (m *Monitor) assignmentText(name, have string) ([]byte, error) {
	a := m.assignmentFor(name, false)
	if err := a.sign(); err != nil {
		return nil, err
	}
	m.sent(name, a.Digest)
	if have != "" && have == a.Digest {
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
func (m *Monitor) sent(name, digest string) (isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hosts[name]
	if k == nil || k.sent == digest {
		return false
	}
	k.sent = digest
	return true
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
	a := m.assignmentFor(name, true)
	if err := a.sign(); err != nil || !m.sent(name, a.Digest) {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return m.nats.Publish(subjectAssign+token(name), text)
}
