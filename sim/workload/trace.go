package workload

import (
	"math/rand/v2"
	"strconv"
)

// Trace is flows that were recorded, or written by hand, in a CSV file. Its
// first line names the columns, in any order:
//
//	src,dst,start_us,bytes[,class][,priority]
//
// Times are microseconds with up to six decimals, 0 bytes are an endless flow,
// and lines that begin with # are comments. The Profile gives what the file
// does not say: its Start is added to all times, Class and Priority hold where
// the file has no such column or leaves the field empty.
type Trace struct {
	Profile
	records []traceRecord
}

// A traceRecord is one line of a trace.
type traceRecord struct {
	line        int
	src, dst    int
	start       int64 // picoseconds
	bytes       int64
	class       string
	priority    int
	hasPriority bool
}

// Len is the number of flows.
func (t *Trace) Len() int { return len(t.records) }

// Hosts is the number of hosts that the trace needs: one more than the highest
// host number in it.
func (t *Trace) Hosts() int {
	hosts := 0
	for i := range t.records {
		hosts = max(hosts, t.records[i].src+1, t.records[i].dst+1)
	}
	return hosts
}

// Flows lists the trace's flows; only jitter is drawn. A host that does not
// exist is a TraceError with the line that names it.
func (t *Trace) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	c := configCheck{workload: ClassTrace}
	c.hosts(hosts)
	t.Profile.check(&c)
	if c.err != nil {
		return nil, c.err
	}
	b := builder{flows: make([]Flow, 0, len(t.records))}
	for i := range t.records {
		record := &t.records[i]
		if err := record.checkHosts(hosts); err != nil {
			return nil, err
		}
		f := t.flow(ClassTrace, record.src, record.dst, record.bytes)
		f.Start = t.start(r) + record.start
		if record.class != "" {
			f.Class = record.class
		}
		if record.hasPriority {
			f.Priority = record.priority
		}
		b.add(f)
	}
	return b.finish(), nil
}

func (record *traceRecord) checkHosts(hosts int) error {
	field, host := columnSrc, record.src
	if host < hosts {
		field, host = columnDst, record.dst
	}
	if host < hosts {
		return nil
	}
	return &TraceError{
		Line: record.line, Field: field, Got: strconv.Itoa(host),
		Want: "a host below " + strconv.Itoa(hosts) + ", the number of hosts",
	}
}
