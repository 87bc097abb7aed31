package monitor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// subjectPulse is written to the stream now and then, to find out whether it stores.
	subjectPulse = "braid.pulse"
	// pulseEvery is how often: so soon it is known that it does not, or does again.
	pulseEvery = 10 * time.Second
	// pulseSeldom is how often at least, after a store that was opened again did not help.
	pulseSeldom = 5 * time.Minute
	// pulseWait is how long storing may take.
	pulseWait = 5 * time.Second
	// storeNote is a file that has what the stream had when it was closed.
	storeNote = "store.json"
	// roomNeeded is what must be free for a store that is opened again.
	roomNeeded = 256 << 10
)

// StoreState is how it is with what the monitor keeps. Judging goes on without.
type StoreState struct {
	Up       bool      `json:"up"`
	Since    time.Time `json:"since"`
	Says     string    `json:"says,omitempty"`      // what is wrong, and what to do
	Windows  uint64    `json:"windows"`             // messages that it has
	Bytes    uint64    `json:"bytes"`               // that they take
	Limit    int64     `json:"limit_bytes"`         // from where on the oldest go
	SetAside []string  `json:"set_aside,omitempty"` // files and directories that were damaged
}

// store is where windows are kept: a stream of NATS.
type store struct {
	mu      sync.Mutex
	state   StoreState
	opening bool
	damage  []string // what NATS said while it was opening the store
}

func (s *store) now() StoreState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// damagedError means that what was kept cannot be used any more.
type damagedError struct{ says string }

func (e damagedError) Error() string { return e.says }

// startStore opens the store, or says why it cannot be: the monitor works without, and tries again.
func (m *Monitor) startStore() {
	m.store.state.Limit = m.cfg.MaxBytes
	err := m.room()
	if err == nil {
		err = m.reopenStore()
	}
	m.stored(err)
}

// watchStore finds out whether the store stores, and opens it again when it does not: ever more seldom while that does not help, since all
// agents have to connect again.
func (m *Monitor) watchStore(ctx context.Context) {
	every := min(pulseEvery, m.cfg.Window)
	for wait := every; sleep(ctx, wait) == nil; {
		err := m.pulse()
		if err == nil {
			wait = every
		} else if ctx.Err() == nil {
			m.closeJetStream()
			if err = m.room(); err == nil {
				wait = min(2*wait, pulseSeldom)
				err = m.reopenStore()
			}
			if err == nil {
				err = m.pulse()
			}
		}
		if ctx.Err() == nil {
			m.stored(err)
		}
	}
}

// stored notes whether the store works.
func (m *Monitor) stored(err error) {
	m.store.mu.Lock()
	s := &m.store.state
	up, first := err == nil, s.Since.IsZero()
	changed := first || s.Up != up
	if changed {
		s.Up, s.Since = up, time.Now()
	}
	s.Says = ""
	if err != nil {
		s.Says = m.storeSays(err)
	}
	says := s.Says
	m.store.mu.Unlock()
	switch {
	case changed && !up:
		m.happened(says)
	case changed && !first:
		m.happened("What agents report is stored again.")
	}
}

// storeSays is what is wrong with the store, and what to do.
func (m *Monitor) storeSays(err error) string {
	remedy := "make room in " + m.cfg.Dir
	if m.server == nil {
		remedy = "look at the streams of " + m.cfg.External.name()
	}
	return fmt.Sprintf("What agents report cannot be stored (%v). It is judged all the same, and agents keep it for an hour: %s, or mend it.", err, remedy)
}

// happened notes an event.
func (m *Monitor) happened(says string) {
	m.cfg.Log.Warn(says)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(Event{At: time.Now(), Says: says})
}

// pulse writes to the stream, as agents do, and reads what it has.
func (m *Monitor) pulse() error {
	js, err := m.nats.JetStream(nats.MaxWait(pulseWait))
	if err != nil {
		return err
	}
	if _, err := js.Publish(subjectPulse, []byte("{}")); err != nil {
		return m.whyNot(err)
	}
	info, err := m.streamInfo()
	if err != nil {
		return err
	}
	m.store.mu.Lock()
	m.store.state.Windows, m.store.state.Bytes = info.State.Msgs, info.State.Bytes
	m.store.mu.Unlock()
	return nil
}

func (m *Monitor) streamInfo() (*nats.StreamInfo, error) {
	js, err := m.nats.JetStream(nats.MaxWait(pulseWait))
	if err != nil {
		return nil, err
	}
	return js.StreamInfo(streamName)
}

// whyNot says what the disk says, if it says anything: NATS only says that it failed.
func (m *Monitor) whyNot(err error) error { return errors.Join(m.room(), err) }

// room says whether there is room in the directory, if it is there that windows are stored.
func (m *Monitor) room() error {
	if m.server == nil {
		return nil
	}
	file := filepath.Join(m.cfg.Dir, "room")
	err := os.WriteFile(file, make([]byte, roomNeeded), 0o600)
	if removed := os.Remove(file); err == nil {
		err = removed
	}
	return err
}

// reopenStore opens the store. What is damaged is set aside, and an empty one begun.
func (m *Monitor) reopenStore() error {
	err := m.openStore()
	damaged := damagedError{}
	if !errors.As(err, &damaged) || m.server == nil {
		return err
	}
	if err := m.freshServer(); err != nil { // nobody has the files any more
		return err
	}
	where, err := setAside(m.server.jetStreamDir())
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(m.cfg.Dir, storeNote)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.wasSetAside(fmt.Sprintf("What agents had reported is damaged (%s). What is left of it is set aside in %s, and an empty store is begun.", damaged.says, where), where)
	return m.openStore()
}

// wasSetAside tells of something damaged.
func (m *Monitor) wasSetAside(says, where string) {
	m.store.mu.Lock()
	m.store.state.SetAside = append(m.store.state.SetAside, where)
	m.store.mu.Unlock()
	m.happened(says)
}

// setAside renames what is damaged.
func setAside(path string) (string, error) {
	where := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000Z")
	return where, os.Rename(path, where)
}

// openStore starts JetStream, if it is in this process, and makes the stream.
func (m *Monitor) openStore() error {
	if m.server != nil && !m.server.stores() {
		if err := m.openJetStream(); err != nil {
			return err
		}
	}
	return m.openStream()
}

// openJetStream has NATS read what it kept. Its index is made anew from the blocks, which are all read: a block that is damaged is
// found now, and not by who asks for it.
func (m *Monitor) openJetStream() error {
	if err := m.freshServer(); err != nil {
		return err
	}
	indexes, err := filepath.Glob(filepath.Join(m.server.jetStreamDir(), "*", "streams", "*", "msgs", "index.db"))
	if err != nil {
		return err
	}
	for _, file := range indexes {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	m.store.mu.Lock()
	m.store.opening, m.store.damage = true, nil
	m.store.mu.Unlock()
	err = m.server.startJetStream(m.cfg.MaxBytes)
	m.store.mu.Lock()
	m.store.opening = false
	damage := m.store.damage
	m.store.mu.Unlock()
	if err != nil {
		m.closeJetStream()
		return err
	}
	if len(damage) > 0 {
		return damagedError{damage[0]}
	}
	return nil
}

// freshServer starts a new server in the place of one in which JetStream was started.
func (m *Monitor) freshServer() error {
	if m.server.fresh() {
		return nil
	}
	m.server.stop()
	if err := m.server.start(); err != nil {
		return err
	}
	return m.nats.ForceReconnect()
}

func (m *Monitor) closeJetStream() {
	if m.server == nil {
		return
	}
	if err := m.server.stopJetStream(); err != nil {
		m.cfg.Log.Warn("the store does not close", "error", err)
	}
}

// openStream makes the stream, or takes the one that is there, if nothing of it is missing.
func (m *Monitor) openStream() error {
	js, err := m.nats.JetStream(nats.MaxWait(pulseWait))
	if err != nil {
		return err
	}
	stream := &nats.StreamConfig{
		Name: streamName, Subjects: []string{subjectWindow + "*", subjectPulse}, MaxAge: m.cfg.Retention, MaxBytes: m.cfg.MaxBytes, Discard: nats.DiscardOld,
		Duplicates: min(kept, m.cfg.Retention), Replicas: m.cfg.External.Replicas,
	}
	info, err := js.AddStream(stream)
	if errors.Is(err, nats.ErrStreamNameAlreadyInUse) {
		info, err = js.UpdateStream(stream)
	}
	if err != nil {
		return err
	}
	// Only the oldest are ever deleted, so that there are no gaps.
	if s := &info.State; m.server != nil && s.Msgs > 0 && s.LastSeq-s.FirstSeq+1 != s.Msgs {
		return damagedError{fmt.Sprintf("%d of %d messages are missing", s.LastSeq-s.FirstSeq+1-s.Msgs, s.LastSeq-s.FirstSeq+1)}
	}
	return m.compareNote(info.State.LastSeq)
}

// compareNote checks that nothing is missing at the end of what the stream had when it was closed.
func (m *Monitor) compareNote(last uint64) error {
	file := filepath.Join(m.cfg.Dir, storeNote)
	text, err := os.ReadFile(file)
	if m.server == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before uint64
	if err == nil && json.Unmarshal(text, &before) != nil {
		before = 0 // the note is damaged, and says nothing
	}
	if err == nil {
		err = os.Remove(file)
	}
	if err == nil && last < before {
		return damagedError{fmt.Sprintf("the last %d messages are missing", before-last)}
	}
	return err
}

// noteStore notes what the stream has, before it is closed. After a crash there is no note.
func (m *Monitor) noteStore() {
	if m.server == nil || m.nats == nil || !m.store.now().Up {
		return
	}
	info, err := m.streamInfo()
	if err != nil {
		return
	}
	if err := os.WriteFile(filepath.Join(m.cfg.Dir, storeNote), fmt.Append(nil, info.State.LastSeq), 0o600); err != nil {
		m.cfg.Log.Warn("what is stored cannot be noted", "error", err)
	}
}

// mendCredentials sets the key and the tokens aside if they are damaged, so that new ones are made, and says so.
func mendCredentials(dir string) (says, where []string, err error) {
	type credential struct {
		file string
		bad  func([]byte) error
	}
	all := []credential{{"tls.pem", func(text []byte) error { _, err := tls.X509KeyPair(text, text); return err }}}
	for _, r := range roles {
		all = append(all, credential{JoinFile(r), func(text []byte) error { _, err := secretIn(text, r); return err }})
	}
	for _, c := range all {
		file := filepath.Join(dir, c.file)
		text, err := os.ReadFile(file)
		if err != nil {
			continue // who needs it says so
		}
		wrong := c.bad(text)
		if wrong == nil {
			continue
		}
		aside, err := setAside(file)
		if err != nil {
			return says, where, fmt.Errorf("%s is damaged (%w), and cannot be set aside: %w", file, wrong, err)
		}
		where = append(where, aside)
		says = append(says, fmt.Sprintf("%s is damaged (%v). It is set aside as %s, and a new one made: put a copy of the old one in its place and start again, or let all join anew.", file, wrong, aside))
	}
	return says, where, nil
}

// natsLog takes what NATS logs, and notes what it says of damage while it opens the store.
type natsLog struct{ *Monitor }

func (l natsLog) Noticef(string, ...any)            {}
func (l natsLog) Debugf(string, ...any)             {}
func (l natsLog) Tracef(string, ...any)             {}
func (l natsLog) Fatalf(format string, args ...any) { l.Errorf(format, args...) }
func (l natsLog) Errorf(format string, args ...any) { l.Warnf(format, args...) }

func (l natsLog) Warnf(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	if strings.HasPrefix(text, "Plaintext passwords") {
		return // they are random, are compared in constant time, and a hash for each of thousands of agents that come back would take minutes
	}
	l.cfg.Log.Warn("NATS: " + text)
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.opening && isDamage(text) {
		l.store.damage = append(l.store.damage, text)
	}
}

// isDamage says whether NATS warns of damage. That a store was not closed is none.
func isDamage(text string) bool {
	if strings.Contains(text, "outdated") || strings.Contains(text, " took ") {
		return false
	}
	for _, sign := range []string{"metafile", "checksum", "corrupt", "Error recreating", "Filestore ["} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
