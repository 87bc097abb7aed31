package sim

import (
	"os"
	"runtime/debug"
)

// garbagePercent is the garbage, in per cent of what lives, that a simulation may
// leave before it is collected. A network is built once and then hardly allocates,
// so the default would mostly look at what lives, again and again.
const garbagePercent = 400

// CollectSeldom makes garbage collection rare in this process, for programs that do
// little but simulate. It obeys GOGC where the user has set it.
func CollectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
