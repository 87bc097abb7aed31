package monitor

import (
	"net/http"
	"slices"
	"strings"
)

// shownEvents is how many events a page is told of at a time.
const shownEvents = 500

// events are the latest that a filter lets through: ?text= is part of what they say, ?alarms=1 leaves those about alarms.
func (p *Page) events(r *http.Request, _ visitor) (any, error) {
	text, alarms := strings.ToLower(r.URL.Query().Get("text")), r.URL.Query().Has("alarms")
	all := p.monitor.Events()
	found, matching := []Event{}, 0
	for _, e := range slices.Backward(all) {
		if alarms && e.Alarm == nil || !strings.Contains(strings.ToLower(e.Says), text) {
			continue
		}
		if matching++; matching <= shownEvents {
			found = append(found, e)
		}
	}
	return map[string]any{"events": found, "matching": matching, "of": len(all)}, nil
}
