package verbs

import "testing"

// A completion queue that queue pairs of several loops report to has a lock, and its ring is written by all of them.
func BenchmarkPush(b *testing.B) {
	for name, shared := range map[string]bool{"own": false, "shared": true} {
		b.Run(name, func(b *testing.B) {
			var one CQ
			one.ring.init(1024)
			one.shared = true
			b.RunParallel(func(pb *testing.PB) {
				var own CQ
				own.ring.init(1024)
				cq := &own
				if shared {
					cq = &one
				}
				var owner slots
				var out [64]Completion
				var c Completion
				for i := 0; pb.Next(); i++ {
					if i%32 == 0 {
						for cq.ring.take(out[:], nil) > 0 {
						}
					}
					cq.push(nil, &c, &owner, 0)
				}
			})
		})
	}
}
