package fluid_test

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/fluid"
)

// The four links of figure 5 end with the same marking ratio, 2/(cwnd+2), at
// queues that differ as their RED curves do.
func ExampleSolve() {
	result, err := fluid.Solve(fluid.Figure5())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, link := range result.Steady.Links {
		fmt.Printf("%2.0f Gb/s: queue %.1f, marked %.2f %%\n", link.RateBitsPerSecond/1e9, link.Queue, 100*link.MarkingRatio)
	}
	window := result.Steady.Groups[0].Window
	fmt.Printf("window %.1f, 2/(cwnd+2) = %.2f %%\n", window, 100*fluid.MarkingAt(window))
	// Output:
	// 20 Gb/s: queue 52.3, marked 3.59 %
	// 40 Gb/s: queue 36.1, marked 3.59 %
	// 60 Gb/s: queue 30.8, marked 3.59 %
	// 80 Gb/s: queue 28.1, marked 3.59 %
	// window 53.8, 2/(cwnd+2) = 3.59 %
}
