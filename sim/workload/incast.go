package workload

import "math/rand/v2"

// AnyHost lets Incast draw its receiver.
const AnyHost = -1

// Incast is many senders to one receiver, as when a disk is rebuilt from copies
// on other servers (MP-RDMA §5.2.4).
type Incast struct {
	Profile
	Receiver int   // a host number, or AnyHost
	Degree   int   // number of senders, drawn from the other hosts; 0: all of them
	Bytes    int64 // of each sender; 0: endless
}

// Flows draws the senders.
func (in Incast) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	c := configCheck{workload: ClassIncast}
	c.hosts(hosts)
	in.Profile.check(&c)
	c.within("Receiver", int64(in.Receiver), AnyHost, int64(hosts)-1)
	c.within("Degree", int64(in.Degree), 0, int64(hosts)-1)
	c.within("Bytes", in.Bytes, 0, MaxBytes)
	if c.err != nil {
		return nil, c.err
	}
	receiver := in.Receiver
	if receiver == AnyHost {
		receiver = r.IntN(hosts)
	}
	senders := make([]int, 0, hosts-1)
	for host := range hosts {
		if host != receiver {
			senders = append(senders, host)
		}
	}
	if in.Degree > 0 {
		r.Shuffle(len(senders), func(i, j int) { senders[i], senders[j] = senders[j], senders[i] })
		senders = senders[:in.Degree]
	}
	b := builder{flows: make([]Flow, 0, len(senders))}
	for _, src := range senders {
		f := in.flow(ClassIncast, src, receiver, in.Bytes)
		f.Start = in.start(r)
		b.add(f)
	}
	return b.finish(), nil
}
