package monitor

import "github.com/prometheus/client_golang/prometheus"

// programCounters are the counters of programs that are told for each host, summed up over its programs, with the names that RDMA exporters
// give them. There are some for each host whose programs have moved something.
var programCounters = []struct {
	counter string
	metric  *prometheus.Desc
}{
	{"tx_bytes", ofHost("port_data_transmitted_bytes_total", "Bytes that programs have sent.")},
	{"rx_bytes", ofHost("port_data_received_bytes_total", "Bytes that programs have received.")},
	{"tx_packets", ofHost("port_packets_transmitted_total", "Packets that programs have sent.")},
	{"rx_packets", ofHost("port_packets_received_total", "Packets that programs have received.")},
	{"retransmits", ofHost("retransmits_total", "Packets that were sent again.")},
	{"mp_lost", ofHost("mp_lost_packets_total", "Packets of multi-path queue pairs that were taken for lost.")},
	{"mp_spurious_retransmits", ofHost("mp_spurious_retransmits_total", "Those of them that had arrived, only late.")},
	{"mp_paths_retired", ofHost("mp_paths_retired_total", "Paths that were taken out of use.")},
	{"out_of_sequence", ofHost("out_of_sequence_total", "Packets that arrived out of order where that is an error.")},
	{"packet_seq_err", ofHost("packet_seq_err_total", "NAKs for a wrong sequence number that were received.")},
	{"local_ack_timeout_err", ofHost("local_ack_timeout_err_total", "Timeouts of the requester.")},
	{"rnr_naks_received", ofHost("rnr_naks_received_total", "NAKs of peers that had no receive posted.")},
	{"rnr_nak_retry_err", ofHost("rnr_nak_retry_err_total", "Queue pairs that gave up for want of a receive.")},
	{"np_ecn_marked_roce_packets", ofHost("np_ecn_marked_roce_packets_total", "Packets that arrived with a mark of congestion.")},
	{"np_cnp_sent", ofHost("np_cnp_sent_total", "Congestion notices sent.")},
	{"rp_cnp_handled", ofHost("rp_cnp_handled_total", "Congestion notices that a sender obeyed.")},
	{"resp_remote_access_errors", ofHost("resp_remote_access_errors_total", "Requests with a wrong key or outside of a region.")},
	{"socket_overflow", ofHost("socket_overflow_packets_total", "Packets that the kernel dropped because a program did not fetch them.")},
	{"bad_icrc", ofHost("bad_icrc_packets_total", "Packets that arrived damaged.")},
	{"flood_dropped", ofHost("flood_dropped_packets_total", "Requests for connections that were not looked at.")},
}

var (
	metricPrograms    = ofHost("programs", "Programs that use braid and let the agent look at them.")
	metricQueuePairs  = ofHost("queue_pairs", "Their queue pairs.")
	metricFailedPairs = ofHost("queue_pairs_failed", "Those of them that have failed.")
	metricRegistered  = ofHost("registered_bytes", "Memory that they have registered.")
	metricSlowEvents  = ofHost("slow_events_total", "Phases of messages and times without a poll that took too long.")
)

func ofHost(name, help string) *prometheus.Desc { return metric(name, help, "host", "rack") }

// programTotals are what the programs of a host have done since the monitor knows it.
type programTotals struct {
	counters map[string]uint64 // those of programCounters
	slow     uint64
}

// add takes the window of a host, which nobody has taken before.
func (t *programTotals) add(w *Window) {
	if t.counters == nil {
		t.counters = map[string]uint64{}
	}
	for i := range w.Programs {
		for _, c := range programCounters {
			if n := w.Programs[i].Counters[c.counter]; n > 0 {
				t.counters[c.counter] += n
			}
		}
	}
	t.slow += uint64(len(w.Slow))
}

func (c metrics) programMetrics(emit emitter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.names[:min(len(c.names), maxMetricHosts)] {
		k := c.hosts[name]
		labels := []string{name, k.rackName()}
		for _, p := range programCounters {
			if n := k.totals.counters[p.counter]; n > 0 {
				emit.counter(p.metric, n, labels...)
			}
		}
		emit.counter(metricSlowEvents, k.totals.slow, labels...)
		w, ok := c.windows[name]
		if !ok {
			continue
		}
		pairs, failed, registered := 0, 0, uint64(0)
		for i := range w.Programs {
			for state, n := range w.Programs[i].Pairs {
				pairs += n
				if state == "ERR" || state == "SQE" {
					failed += n
				}
			}
			registered += w.Programs[i].Registered
		}
		emit.gauge(metricPrograms, float64(len(w.Programs)), labels...)
		emit.gauge(metricQueuePairs, float64(pairs), labels...)
		emit.gauge(metricFailedPairs, float64(failed), labels...)
		emit.gauge(metricRegistered, float64(registered), labels...)
	}
}
