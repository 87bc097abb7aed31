package monitor

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of what a scrape can have, whatever agents say of themselves: together at most 250,000 series, some 30 MB.
const (
	// maxMetricHosts is how many hosts have series of their own, the first by name.
	maxMetricHosts = 5_000
	// maxMetricRackPairs is how many pairs of racks have series of their own: all of a hundred racks. Of more, those that lose most.
	maxMetricRackPairs = 10_000
	// maxScrapes is how many may be under way at a time.
	maxScrapes = 4
)

// counts are what has happened since the monitor was started.
type counts struct {
	received, refused, events uint64           // windows taken and refused, and events
	strangers                 uint64           // introductions refused
	raised                    map[Blame]uint64 // alarms
	probes, lost              uint64
}

// metric describes a metric; its help is a sentence.
func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("braid", "", name), help, labels, nil)
}

// The metrics, by subject. Names are Prometheus' conventions: base units, and _total for what only grows.
var (
	metricHosts        = metric("hosts", "Hosts that have joined.")
	metricHostsLeftOut = metric("hosts_without_series", "Hosts that have no series of their own, since there are too many.")
	metricHostUp       = metric("host_reporting", "Whether the agent of a host reports: 1, or 0 after two windows without.", "host", "rack")
	metricHostLast     = metric("host_last_report_timestamp_seconds", "When the agent of a host last said something.", "host", "rack")
	metricHostClock    = metric("host_clock_offset_seconds", "By how much the clock of a host is ahead of the monitor's.", "host", "rack")

	metricProbes    = metric("mesh_probes_total", "Probes that agents have sent.")
	metricLost      = metric("mesh_probes_lost_total", "Probes without a reply.")
	metricSent      = metric("mesh_host_probes", "Probes sent by a host in the last window.", "host", "rack")
	metricSentLost  = metric("mesh_host_probes_lost", "Probes sent by a host in the last window that had no reply.", "host", "rack")
	metricAsked     = metric("mesh_host_probed", "Probes sent to a host in the last window.", "host", "rack")
	metricAskedLost = metric("mesh_host_probed_lost", "Probes sent to a host in the last window that had no reply.", "host", "rack")
	metricNetwork   = metric("mesh_host_network_p99_seconds", "Time of probes of a host in the network, 99th percentile of the worst path in the last window.", "host", "rack")
	metricResponder = metric("mesh_host_responder_p99_seconds", "Time of probes in the program of the host that replies, 99th percentile of the worst path in the last window.", "host", "rack")
	metricProber    = metric("mesh_host_prober_p99_seconds", "Time of probes in the program of the host that asks, 99th percentile of the worst path in the last window.", "host", "rack")

	metricRackSent      = metric("mesh_rack_probes", "Probes from one rack to another in the last window.", "from", "to")
	metricRackLost      = metric("mesh_rack_probes_lost", "Probes from one rack to another in the last window that had no reply.", "from", "to")
	metricRackNetwork   = metric("mesh_rack_network_p99_seconds", "Time of probes between two racks in the network, 99th percentile of the worst path in the last window.", "from", "to")
	metricRackResponder = metric("mesh_rack_responder_p99_seconds", "Time in the programs that reply, as above.", "from", "to")
	metricRackProber    = metric("mesh_rack_prober_p99_seconds", "Time in the programs that ask, as above.", "from", "to")
	metricRackLeftOut   = metric("mesh_rack_pairs_without_series", "Pairs of racks that have no series of their own, since there are too many.")

	metricAlarms       = metric("alarms", "Alarms that have not ended, by what is at fault.", "blame")
	metricRaised       = metric("alarms_raised_total", "Alarms that were raised, by what is at fault.", "blame")
	metricEvents       = metric("events_total", "What has happened: alarms begun and ended, hosts that joined, wrong clocks.")
	metricWindows      = metric("windows_received_total", "Windows of agents that were taken.")
	metricRefused      = metric("windows_refused_total", "Windows that were refused: malformed, or of a host that has not joined.")
	metricDenied       = metric("agents_refused_total", "Introductions of agents that were refused.")
	metricSeconds      = metric("window_seconds", "Length of a window.")
	metricStoreUp      = metric("store_up", "Whether what agents report can be stored: 1, or 0.")
	metricStoreWindows = metric("store_messages", "Messages in the store.")
	metricStoreBytes   = metric("store_bytes", "Bytes that they take.")
	metricStoreLimit   = metric("store_limit_bytes", "Bytes from which on the oldest are deleted.")
	metricSetAside     = metric("store_set_aside", "Files and directories that were damaged and set aside since the start.")

	metricNATS = metric("nats_connections", "Connections of agents and tools to the NATS in this process.")
	metricSlow = metric("nats_slow_consumers_total", "Connections that were closed because they did not read.")
)

// metrics are the monitor's, for Prometheus.
type metrics struct{ *Monitor }

// newMetrics serves the metrics of a monitor and of its process.
func newMetrics(m *Monitor) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// Describe says nothing: what there is depends on the hosts.
func (metrics) Describe(chan<- *prometheus.Desc) {}

// Collect tells all metrics. A further subject is a function more.
func (c metrics) Collect(out chan<- prometheus.Metric) {
	emit := emitter(out)
	for _, subject := range []func(emitter){c.hostMetrics, c.programMetrics, c.switchMetrics, c.rackMetrics, c.alarmMetrics, c.trafficMetrics, c.storeMetrics, c.natsMetrics} {
		subject(emit)
	}
}

// emitter takes metrics.
type emitter chan<- prometheus.Metric

func (e emitter) gauge(d *prometheus.Desc, value float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (e emitter) counter(d *prometheus.Desc, value uint64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

// times tells the three times of a sum, if there are any: lost probes have none.
func (e emitter) times(s *Sum, network, responder, prober *prometheus.Desc, labels ...string) {
	if s.Sent == s.Lost {
		return
	}
	e.gauge(network, s.Network.Seconds(), labels...)
	e.gauge(responder, s.Responder.Seconds(), labels...)
	e.gauge(prober, s.Prober.Seconds(), labels...)
}

func (c metrics) hostMetrics(emit emitter) {
	c.mu.Lock()
	now := time.Now()
	sums := c.sum
	var states []HostState
	for _, name := range c.names {
		states = append(states, c.hostState(c.hosts[name], now))
	}
	c.mu.Unlock()
	shown := states[:min(len(states), maxMetricHosts)]
	emit.gauge(metricHosts, float64(len(states)))
	emit.gauge(metricHostsLeftOut, float64(len(states)-len(shown)))
	for i := range shown {
		h := &shown[i]
		labels := []string{h.Name, h.rackName()}
		emit.gauge(metricHostUp, boolean(!h.Stale), labels...)
		emit.gauge(metricHostLast, float64(h.Last.UnixMilli())/1e3, labels...)
		emit.gauge(metricHostClock, h.Clock.Seconds(), labels...)
		if s := sums.hosts[h.Name]; s != nil {
			emit.host(s, labels)
		}
	}
}

// host tells what a host sees, and how it is seen. The time in its program that replies is known to those who ask.
func (e emitter) host(s *hostSum, labels []string) {
	e.gauge(metricSent, float64(s.from.Sent), labels...)
	e.gauge(metricSentLost, float64(s.from.Lost), labels...)
	e.gauge(metricAsked, float64(s.to.Sent), labels...)
	e.gauge(metricAskedLost, float64(s.to.Lost), labels...)
	if s.from.Sent > s.from.Lost {
		e.gauge(metricNetwork, s.from.Network.Seconds(), labels...)
		e.gauge(metricProber, s.from.Prober.Seconds(), labels...)
	}
	if s.to.Sent > s.to.Lost {
		e.gauge(metricResponder, s.to.Responder.Seconds(), labels...)
	}
}

func boolean(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c metrics) rackMetrics(emit emitter) {
	c.mu.Lock()
	sums := c.sum // which does not change any more
	c.mu.Unlock()
	pairs := make([]rackPair, 0, len(sums.between))
	for pair := range sums.between {
		pairs = append(pairs, pair)
	}
	if len(pairs) > maxMetricRackPairs {
		slices.SortFunc(pairs, func(a, b rackPair) int {
			x, y := sums.between[a], sums.between[b]
			return cmp.Or(cmp.Compare(y.Lost, x.Lost), cmp.Compare(y.Network, x.Network), a.from-b.from, a.to-b.to)
		})
	}
	shown := pairs[:min(len(pairs), maxMetricRackPairs)]
	emit.gauge(metricRackLeftOut, float64(len(pairs)-len(shown)))
	for _, pair := range shown {
		s := sums.between[pair]
		labels := []string{sums.racks[pair.from], sums.racks[pair.to]}
		emit.gauge(metricRackSent, float64(s.Sent), labels...)
		emit.gauge(metricRackLost, float64(s.Lost), labels...)
		emit.times(s, metricRackNetwork, metricRackResponder, metricRackProber, labels...)
	}
}

func (c metrics) alarmMetrics(emit emitter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	active := map[Blame]int{}
	for _, a := range c.judge.Active() {
		active[a.Blame]++
	}
	for _, blame := range blames {
		emit.gauge(metricAlarms, float64(active[blame]), string(blame))
		emit.counter(metricRaised, c.counts.raised[blame], string(blame))
	}
}

func (c metrics) trafficMetrics(emit emitter) {
	c.mu.Lock()
	n := c.counts
	c.mu.Unlock()
	emit.counter(metricProbes, n.probes)
	emit.counter(metricLost, n.lost)
	emit.counter(metricEvents, n.events)
	emit.counter(metricWindows, n.received)
	emit.counter(metricRefused, n.refused)
	emit.counter(metricDenied, n.strangers)
	emit.gauge(metricSeconds, c.cfg.Window.Seconds())
}

func (c metrics) storeMetrics(emit emitter) {
	s := c.store.now()
	emit.gauge(metricStoreUp, boolean(s.Up))
	emit.gauge(metricStoreWindows, float64(s.Windows))
	emit.gauge(metricStoreBytes, float64(s.Bytes))
	emit.gauge(metricStoreLimit, float64(s.Limit))
	emit.gauge(metricSetAside, float64(len(s.SetAside)))
}

func (c metrics) natsMetrics(emit emitter) {
	if c.server == nil {
		return // an external cluster has metrics of its own
	}
	if s := c.server.now(); s != nil {
		emit.gauge(metricNATS, float64(s.NumClients()))
		emit.counter(metricSlow, uint64(max(0, s.NumSlowConsumers())))
	}
}
