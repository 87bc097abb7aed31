package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SwitchPort is what a port of a switch has counted. Who can read the counters of switches gives them to an agent (AgentConfig.Switches), and the monitor
// says which switch drops packets where probes are lost.
type SwitchPort struct {
	Switch  string `json:"switch"`
	Port    string `json:"port"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	Marked  uint64 `json:"marked"`  // packets that got the mark of congestion
	Dropped uint64 `json:"dropped"` // packets, for whatever reason
	Pauses  uint64 `json:"pauses"`  // PFC frames that told it to stop
}

// maxPorts is of how many ports an agent tells.
const maxPorts = 4096

func (p *SwitchPort) name() string { return p.Switch + " " + p.Port }

// share is the part of the packets that it dropped.
func (p *SwitchPort) share() float64 { return float64(p.Dropped) / float64(max(1, p.Packets)) }

func (p *SwitchPort) check() error {
	if len(p.Switch) > maxName || len(p.Port) > maxName {
		return fmt.Errorf("a port of a switch with a name of %d bytes", len(p.name()))
	}
	return nil
}

// switches is what an agent knows of the ports of switches. Its zero value knows none.
type switches struct{ last map[string]SwitchPort }

// since is by how much the counters have grown since it was last called, those that dropped most first. A port that is new, or was started anew, is not told of.
func (s *switches) since(now []SwitchPort) (grown []SwitchPort) {
	last := make(map[string]SwitchPort, len(now))
	for _, p := range now {
		last[p.name()] = p
		then, ok := s.last[p.name()]
		if !ok || p.Packets < then.Packets {
			continue
		}
		grown = append(grown, SwitchPort{
			Switch: p.Switch, Port: p.Port, Packets: p.Packets - then.Packets, Bytes: since(p.Bytes, then.Bytes), Marked: since(p.Marked, then.Marked),
			Dropped: since(p.Dropped, then.Dropped), Pauses: since(p.Pauses, then.Pauses),
		})
	}
	s.last = last
	slices.SortStableFunc(grown, func(a, b SwitchPort) int { return cmp.Compare(b.Dropped, a.Dropped) })
	return grown[:min(len(grown), maxPorts)]
}

// worstPort says which port of a switch dropped most, if agents tell of any that dropped more than what is usual.
func worstPort(windows []Window, limit float64) (says string) {
	var worst *SwitchPort
	for i := range windows {
		for k := range windows[i].Switches {
			if p := &windows[i].Switches[k]; p.share() > limit && (worst == nil || p.share() > worst.share()) {
				worst = p
			}
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf(" Switch %s dropped %d of %d packets (port %s).", worst.Switch, worst.Dropped, worst.Packets, worst.Port)
}

// ports are those of switches in the latest windows, those that dropped most first, and no more than some; the lock is held.
func (m *Monitor) ports(most int) (all []SwitchPort) {
	for _, name := range m.names {
		if w := m.windows[name]; len(w.Switches) > 0 && !m.stale(m.hosts[name], time.Now()) {
			all = append(all, w.Switches...)
		}
	}
	slices.SortStableFunc(all, func(a, b SwitchPort) int {
		return cmp.Or(cmp.Compare(b.Dropped, a.Dropped), cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.Port, b.Port))
	})
	return all[:min(len(all), most)]
}

// The metrics of ports.
var (
	metricPortPackets = metric("switch_port_packets", "Packets of a port of a switch in the last window.", "switch", "port")
	metricPortBytes   = metric("switch_port_bytes", "Bytes of a port of a switch in the last window.", "switch", "port")
	metricPortMarked  = metric("switch_port_marked_packets", "Packets that a port of a switch marked in the last window.", "switch", "port")
	metricPortDropped = metric("switch_port_dropped_packets", "Packets that a port of a switch dropped in the last window.", "switch", "port")
	metricPortPauses  = metric("switch_port_pauses", "PFC frames that told a port of a switch to stop in the last window.", "switch", "port")
)

// switchMetrics tells of the ports. Of one that two agents tell of, the first counts.
func (c metrics) switchMetrics(emit emitter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := map[[2]string]bool{}
	for _, p := range c.ports(maxPorts) {
		if told[[2]string{p.Switch, p.Port}] {
			continue
		}
		told[[2]string{p.Switch, p.Port}] = true
		for _, one := range []struct {
			metric *prometheus.Desc
			value  uint64
		}{{metricPortPackets, p.Packets}, {metricPortBytes, p.Bytes}, {metricPortMarked, p.Marked}, {metricPortDropped, p.Dropped}, {metricPortPauses, p.Pauses}} {
			emit.gauge(one.metric, float64(one.value), p.Switch, p.Port)
		}
	}
}
