package tidy

import "slices"

// module is the path that marks an import as one of ours.
const module = "github.com/braid-rdma/braid"

// rootRoom is what the room of a package in the root would be called.
const rootRoom = "braid"

// A roomLaw says what the non-test files of one room may use.
type roomLaw struct {
	// rooms are the rooms of ours that may be imported, besides the room itself.
	rooms []string

	// deniedPackages are import paths that are forbidden together with
	// everything below them; allowedPackages are exceptions from that.
	deniedPackages  []string
	allowedPackages []string

	// thirdParty lists the path prefixes of foreign modules that may be
	// imported; it is looked at only where core is set.
	core       bool
	thirdParty []string

	// deterministic forbids reading the clock and the process-wide random
	// source, so that a run is a function of its inputs.
	deterministic bool

	// sequential forbids the go statement.
	sequential bool
}

// libraryRooms are the rooms that programs and tools may build on.
var libraryRooms = []string{
	"wire", "transport", "verbs", "udp", "sim", "ibverbs", "cm", "cm/mad", "bundle", rootRoom, "netconn", "operate", "internal",
}

// engineLaw is shared by the engines: they stand beside each other and none
// may know another, or the transport could be used with only one of them.
var engineLaw = roomLaw{
	rooms:      []string{"verbs", "transport", "wire", "internal"},
	core:       true,
	thirdParty: []string{"golang.org/x/sys", "golang.org/x/net"},
}

// toolLaw is that of the tools behind the command. They are handed a device,
// so they name no engine.
var toolLaw = roomLaw{rooms: []string{"braid", "verbs", "transport", "internal", "internal/control", "internal/perftest"}}

// pureDenied are the standard packages that would let the outside world into
// the state machine. A network address as a value is harmless, so the rooms
// that use this list allow net/netip.
var pureDenied = []string{
	"net", "os", "sync", "context", "log", "syscall", "runtime", "crypto/rand", "io/ioutil", "testing", "C",
}

// pureLaw is that of a state machine, or of the messages that one exchanges.
func pureLaw(rooms ...string) roomLaw {
	return roomLaw{
		rooms:           rooms,
		core:            true,
		deniedPackages:  pureDenied,
		allowedPackages: []string{"net/netip"},
		deterministic:   true,
		sequential:      true,
	}
}

// law is the architecture: the table of docs/ARCHITECTURE.md in the form that
// the test enforces.
var law = map[string]roomLaw{
	"wire": {
		core:            true,
		thirdParty:      []string{"golang.org/x/sys/cpu"}, // which CRC this processor can run
		deniedPackages:  slices.Concat(pureDenied, []string{"io", "bufio", "time", "math/rand"}),
		allowedPackages: []string{"net/netip"},
		deterministic:   true,
		sequential:      true,
	},
	"transport": pureLaw("wire", "internal"),
	"verbs": {
		rooms:      []string{"transport", "wire", "internal"},
		core:       true,
		thirdParty: []string{"golang.org/x/sys", "golang.org/x/net"},
	},

	"udp":     engineLaw,
	"ibverbs": engineLaw,
	"sim": {
		rooms:         engineLaw.rooms,
		core:          true,
		thirdParty:    engineLaw.thirdParty,
		deterministic: true,
	},

	// The fuzzer of the simulator runs programs of the front door in it.
	"sim/fuzz": {
		rooms:         []string{"sim", "braid", "verbs", "transport", "wire", "internal"},
		deterministic: true,
	},

	"cm": {rooms: []string{"verbs", "internal", "cm/mad", "cm/machine"}},

	// The connection manager's messages and its state machine are as pure as
	// wire and transport, and for the same reason.
	"cm/mad":     pureLaw("wire"),
	"cm/machine": pureLaw("cm/mad", "wire"),

	// Many queue pairs as one connection. What goes where is decided by a state
	// machine that knows neither verbs nor time.
	"bundle":         {rooms: []string{"cm", "verbs", "internal", "bundle/machine"}},
	"bundle/machine": pureLaw("wire"),

	// The front door, the protocol of its channels, and what decides by which carrier their packets go.
	rootRoom:           {rooms: []string{"verbs", "cm", "udp", "operate", "internal", "internal/session", "internal/mock"}},
	"internal/session": pureLaw("wire", "internal"),
	"internal/mock":    pureLaw("internal"),

	// Agents, the monitor, and what it makes of what they see.
	"monitor": {rooms: []string{"cm", "verbs", "operate", "internal", "internal/ping"}},

	// How operators reach programs.
	"operate": {rooms: []string{"verbs", "transport", "internal"}, core: true, thirdParty: []string{"golang.org/x/sys"}},

	// Its channels as connections of package net.
	"netconn": {rooms: []string{"braid"}, core: true},

	// Its traces as spans of OpenTelemetry, which only who imports this depends on.
	"braidotel": {rooms: []string{"braid"}, core: true, thirdParty: []string{"go.opentelemetry.io/otel"}},

	"lab":         {rooms: slices.Concat(libraryRooms, []string{"experiments", "monitor"})}, // plots and tables; a trial of the monitor
	"experiments": {rooms: libraryRooms},

	"cmd": {rooms: slices.Concat(libraryRooms, []string{
		"sim/fuzz", "lab", "experiments", "monitor", "internal/perf", "internal/demo", "internal/ping", "internal/qlog",
	})},
	// The everyday command is built in seconds: it has none of what is large.
	"cmd/braid/command": {
		rooms:      slices.Concat(libraryRooms, []string{"cmd", "internal/perf", "internal/demo", "internal/ping"}),
		core:       true,
		thirdParty: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys", "golang.org/x/term"},
	},
	"examples": {rooms: slices.Concat(libraryRooms, []string{"lab", "experiments", "cmd"})},
	"bench":    {rooms: libraryRooms},
	"interop":  {rooms: libraryRooms},

	// Leaves hang below everything, so they import nothing of ours.
	"internal": {},

	// The network in memory is an engine for tests. It is no leaf, so no room
	// has it in its list, and only test files can import it.
	"internal/loopnet": engineLaw,

	// The events of queue pairs as a file.
	"internal/qlog": {rooms: []string{"transport"}},

	// The text in which perftest's programs tell each other their numbers.
	"internal/perftest": {rooms: []string{"wire"}},

	// The logic of the command's tools: cmd itself has flags and printing only.
	"internal/control": {rooms: []string{"braid", "verbs"}},
	"internal/perf":    toolLaw,
	"internal/demo":    toolLaw,
	// An agent runs it too, beside what it monitors: it is handed the connection manager of a device.
	"internal/ping": {rooms: []string{"cm", "verbs", "internal"}},

	"scripts": {},
}
