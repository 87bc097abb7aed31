package operate

import (
	"fmt"
	"time"
)

const (
	// delayed is the share of the time for which threads that wait for a processor are too many, and
	// stolen that of the hypervisor.
	delayed, stolen = 0.2, 0.1
	// aLongPoll is how long the device may be left alone.
	aLongPoll = 10 * time.Millisecond
)

// channelRules say why a channel posts nothing, the most telling first.
var channelRules = []func(e *Evidence, c *Channel) *Finding{
	func(_ *Evidence, c *Channel) *Finding {
		return &Finding{
			Cause: CausePeerProgram, Share: c.WindowClosed,
			Says:     fmt.Sprintf("Messages wait %s of the time because the peer's program does not take those that it has.", percent(c.WindowClosed)),
			Evidence: []string{fmt.Sprintf("%d messages sent", c.Sent)},
			Advice:   "The program at the peer must call Receive more often or handle messages faster; braid why there says what it does. A larger window only hides it.",
		}
	},
	func(_ *Evidence, c *Channel) *Finding {
		return &Finding{
			Cause: CauseCallLimit, Share: c.CallsFull, Says: fmt.Sprintf("As many calls wait for their response as may, %s of the time.", percent(c.CallsFull)),
			Advice: "The parameter calls allows more; or the peer's handlers are slow.",
		}
	},
	func(_ *Evidence, c *Channel) *Finding {
		return &Finding{
			Cause: CauseOwnHandlers, Share: c.HandlersFull, Says: fmt.Sprintf("The handlers of this program have as many messages as they may, %s of the time.", percent(c.HandlersFull)),
			Advice: "They are slow or wait for something; the parameter calls allows more of them at a time.",
		}
	},
	func(_ *Evidence, c *Channel) *Finding {
		return &Finding{
			Cause: CauseOwnProgram, Share: c.Unread, Says: fmt.Sprintf("Messages have arrived and this program does not take them, %s of the time.", percent(c.Unread)),
			Evidence: []string{fmt.Sprintf("%d messages received", c.Received)},
			Advice:   "It must call Receive more often; until then its peers wait.",
		}
	},
	func(_ *Evidence, c *Channel) *Finding {
		if c.OpenCalls < 0.5 {
			return nil // it mostly does other things
		}
		return &Finding{
			Cause: CausePeerHandlers, Share: c.OpenCalls, Says: fmt.Sprintf("It waits for responses of the peer's program %s of the time.", percent(c.OpenCalls)),
			Evidence: []string{fmt.Sprintf("%d messages sent, %d received", c.Sent, c.Received)},
			Advice:   "More calls at a time hide the wait; a trace (Context.Set trace=req-rsp) shows where a call spends it.",
		}
	},
}

// explainProgram tells what concerns all queue pairs.
func (e *Evidence) explainProgram() (some []Finding) {
	for _, rule := range []func(*Evidence) *Finding{
		explainHost, explainHypervisor, explainPolls, explainMemory, explainReceiveBuffer, explainSendBuffer, explainDamage, explainFlood,
	} {
		if f := rule(e); f != nil {
			some = append(some, *f)
		}
	}
	return some
}

func explainHost(e *Evidence) *Finding {
	waited := e.Host.Delayed.Seconds() / max(e.Took.Seconds(), 1e-9)
	if e.Host.Busy < 0.9 || waited < delayed {
		return nil
	}
	return &Finding{
		Cause: CauseHostBusy, Share: min(1, waited), Says: "The machine is overloaded, not the network: threads of the program wait for a processor.",
		Evidence: []string{fmt.Sprintf("%d processors are %s busy; the program's threads waited %v in %v and ran %v", e.Host.Processors, percent(e.Host.Busy), round(e.Host.Delayed), round(e.Took), round(e.Host.Own))},
		Advice:   "Give the program processors of its own, or move what else runs there (top shows it).",
	}
}

func explainHypervisor(e *Evidence) *Finding {
	if e.Host.Stolen < stolen {
		return nil
	}
	return &Finding{
		Cause: CauseHypervisor, Share: e.Host.Stolen, Says: fmt.Sprintf("The hypervisor gives %s of the processors' time to other machines.", percent(e.Host.Stolen)),
		Advice: "Nothing inside this machine can help; ask for processors of its own.",
	}
}

func explainPolls(e *Evidence) *Finding {
	if e.Context == nil || e.Context.LongestPoll < aLongPoll {
		return nil
	}
	return &Finding{
		Cause: CausePolls, Share: min(1, e.Context.LongestPoll.Seconds()/max(e.Took.Seconds(), 1e-9)),
		Says:     fmt.Sprintf("The program leaves the device alone for up to %v at a time.", round(e.Context.LongestPoll)),
		Evidence: []string{"meanwhile it was in " + e.Context.PollPlace},
		Advice:   "Long work belongs into a goroutine of its own, not into a handler.",
	}
}

func explainMemory(e *Evidence) *Finding {
	if e.Context == nil || e.Context.MemoryFull < worthTelling {
		return nil
	}
	return &Finding{
		Cause: CauseMemory, Share: e.Context.MemoryFull, Says: fmt.Sprintf("Large messages wait for memory %s of the time.", percent(e.Context.MemoryFull)),
		Advice: "The program must release messages sooner, or the parameter memory allows more.",
	}
}

// grown is a finding if a counter of the engine has.
func (e *Evidence) grown(name string, f Finding) *Finding {
	n := e.Device[name]
	if n == 0 {
		return nil
	}
	f.Share = min(1, float64(n)/float64(max(1, e.Device["packets_received"], e.Device["packets_sent"])))
	f.Evidence = []string{fmt.Sprintf("%s: %d in %v", name, n, round(e.Took))}
	return &f
}

func explainReceiveBuffer(e *Evidence) *Finding {
	return e.grown("socket_overflow", Finding{
		Cause: CauseReceiveBuffer, Says: "The kernel drops packets that arrive because this program does not fetch them in time.",
		Advice: "It needs a processor, or a larger socket buffer (net.core.rmem_max) for bursts.",
	})
}

func explainSendBuffer(e *Evidence) *Finding {
	return e.grown("backpressure", Finding{
		Cause: CauseSendBuffer, Says: "There is no room in the socket buffer at times: the kernel sends more slowly than the program.",
		Advice: "The network interface or its queue is the limit (tc -s qdisc shows it).",
	})
}

func explainDamage(e *Evidence) *Finding {
	return e.grown("bad_icrc", Finding{
		Cause: CauseDamage, Says: "Packets arrive damaged: their check value is wrong.",
		Advice: "A cable, a transceiver or a switch is broken, or something on the way changes packets.",
	})
}

func explainFlood(e *Evidence) *Finding {
	return e.grown("flood_dropped", Finding{
		Cause: CauseFlood, Says: "Somebody sends requests for connections faster than they are looked at.",
		Advice: "The counters of the device and a capture of UDP port 4791 show from where.",
	})
}
