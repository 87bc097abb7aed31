package workload

import (
	"fmt"
	"slices"
	"strconv"
)

// A configCheck tests the fields of one configuration and keeps the first
// error, so that a generator states its conditions one below the other.
type configCheck struct {
	workload string
	err      error
}

// fail records that a field is wrong, unless another one was before.
func (c *configCheck) fail(field string, got any, want string) {
	if c.err == nil {
		c.err = &ConfigError{Workload: c.workload, Field: field, Got: fmt.Sprint(got), Want: want}
	}
}

// within demands low <= got <= high.
func (c *configCheck) within(field string, got, low, high int64) {
	if got < low || got > high {
		c.fail(field, got, fmt.Sprintf("%d to %d", low, high))
	}
}

// share demands a fraction. The condition is written so that NaN fails it.
func (c *configCheck) share(field string, got float64) {
	if !(got >= 0 && got <= 1) {
		c.fail(field, got, "a fraction from 0 to 1")
	}
}

// hosts demands a number of hosts among which there can be traffic.
func (c *configCheck) hosts(hosts int) {
	c.within("hosts", int64(hosts), 2, MaxHosts)
}

// flowCount demands that the list fits; n must not have overflowed.
func (c *configCheck) flowCount(n int64) {
	if n > MaxFlows {
		c.fail("number of flows", n, "at most "+strconv.Itoa(MaxFlows))
	}
}

// Check tests what the simulator relies on: IDs are indices, hosts exist and
// differ, every number is within its limit, and a flow waits only for flows
// before it that end. Generators keep these promises; lists made by hand, or
// changed, can be tested with it.
func Check(flows []Flow, hosts int) error {
	list := configCheck{workload: "flows"}
	list.flowCount(int64(len(flows)))
	list.hosts(hosts)
	if list.err != nil {
		return list.err
	}
	for i := range flows {
		c := configCheck{workload: "flow " + strconv.Itoa(i)}
		checkFlow(&c, flows, i, hosts)
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

func checkFlow(c *configCheck, flows []Flow, i, hosts int) {
	f := &flows[i]
	if f.ID != i {
		c.fail("ID", f.ID, "the index in the list")
	}
	c.within("Src", int64(f.Src), 0, int64(hosts)-1)
	c.within("Dst", int64(f.Dst), 0, int64(hosts)-1)
	if f.Src == f.Dst {
		c.fail("Dst", f.Dst, "another host than Src")
	}
	// A start may be the sum of a profile's, its jitter and an arrival.
	c.within("Start", f.Start, 0, 3*MaxTime)
	c.within("Bytes", f.Bytes, 0, MaxBytes)
	c.within("Message", int64(f.Message), 0, MaxMessage)
	c.within("Rate", f.Rate, 0, MaxRate)
	c.within("Priority", int64(f.Priority), 0, Priorities-1)
	c.share("Sync", f.Sync)
	for place, id := range f.After {
		switch {
		case id < 0 || id >= i:
			c.fail("After", id, "the ID of a flow before it")
		case flows[id].Bytes == 0:
			c.fail("After", id, "a flow that ends, and that one is endless")
		case slices.Contains(f.After[:place], id):
			c.fail("After", id, "each flow only once")
		}
	}
	if i == 0 {
		return
	}
	switch previous := &flows[i-1]; {
	case len(f.After) > 0:
	case len(previous.After) > 0:
		c.fail("After", "empty", "flows that wait for nothing before those that wait")
	case previous.Start > f.Start:
		c.fail("Start", f.Start, "an order by start")
	}
}
