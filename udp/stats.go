package udp

// Stats count what the engine itself saw; queue pairs have counters of their own.
type Stats struct {
	PacketsSent, PacketsReceived uint64
	// Those that took another way than the sockets (verbs.Detour).
	PacketsDiverted, PacketsInjected uint64
	// Those that came for another device at the same address, and were brought there; and those of which
	// that failed.
	PacketsHandedOver, HandoverDropped uint64

	Malformed                 uint64 // too short, or no packet of the protocol
	BadICRC                   uint64
	BadPKey                   uint64
	UnknownQP                 uint64 // for a queue pair that does not exist
	WrongSource               uint64 // for a queue pair, but not from its peer
	NoAddress                 uint64 // datagrams to an address that is gone
	SocketOverflow            uint64 // packets that the kernel dropped because the buffer was full (SO_RXQ_OVFL)
	FloodDropped              uint64 // datagrams for queue pair 1 that the kernel dropped because they came too fast
	Backpressure              uint64 // flushes that the kernel took only in part
	SendDropped               uint64 // packets given up after an error of the socket
	ReceiveErrors, PollErrors uint64
	IdleRounds                uint64      // rounds of the loop that found nothing to do
	FaultDropped              uint64      // packets lost on purpose
	FaultDamaged              uint64      // packets damaged on purpose
	CaptureErrors             uint64      // packets missing from the capture, or the error that ended it
	SharedSourcePorts         uint64      // source ports that could not be opened and share the socket of another
	SharedManagement          uint64      // addresses at which queue pair 1 has no socket of its own, so that a flood of it is not bounded
	SharingDevices            uint64      // loops of other devices that have one of the addresses too
	Loops                     uint64      // of the device
	LoopsRefused              uint64      // those that were asked for and could not be had
	LoopsDied                 uint64      // those that have ended in a panic, with their queue pairs
	Paths                     []PathStats // by source port, up to the last in use; those of further loops follow
}

// sums are the counters, and their names in JSON.
var sums = [...]struct {
	name string
	of   func(*Stats) *uint64
}{
	{"packets_sent", func(s *Stats) *uint64 { return &s.PacketsSent }},
	{"packets_received", func(s *Stats) *uint64 { return &s.PacketsReceived }},
	{"packets_diverted", func(s *Stats) *uint64 { return &s.PacketsDiverted }},
	{"packets_injected", func(s *Stats) *uint64 { return &s.PacketsInjected }},
	{"packets_handed_over", func(s *Stats) *uint64 { return &s.PacketsHandedOver }},
	{"handover_dropped", func(s *Stats) *uint64 { return &s.HandoverDropped }},
	{"malformed", func(s *Stats) *uint64 { return &s.Malformed }},
	{"bad_icrc", func(s *Stats) *uint64 { return &s.BadICRC }},
	{"bad_pkey", func(s *Stats) *uint64 { return &s.BadPKey }},
	{"unknown_qp", func(s *Stats) *uint64 { return &s.UnknownQP }},
	{"wrong_source", func(s *Stats) *uint64 { return &s.WrongSource }},
	{"no_address", func(s *Stats) *uint64 { return &s.NoAddress }},
	{"socket_overflow", func(s *Stats) *uint64 { return &s.SocketOverflow }},
	{"flood_dropped", func(s *Stats) *uint64 { return &s.FloodDropped }},
	{"backpressure", func(s *Stats) *uint64 { return &s.Backpressure }},
	{"send_dropped", func(s *Stats) *uint64 { return &s.SendDropped }},
	{"receive_errors", func(s *Stats) *uint64 { return &s.ReceiveErrors }},
	{"poll_errors", func(s *Stats) *uint64 { return &s.PollErrors }},
	{"idle_rounds", func(s *Stats) *uint64 { return &s.IdleRounds }},
	{"fault_dropped", func(s *Stats) *uint64 { return &s.FaultDropped }},
	{"fault_damaged", func(s *Stats) *uint64 { return &s.FaultDamaged }},
	{"capture_errors", func(s *Stats) *uint64 { return &s.CaptureErrors }},
	{"shared_source_ports", func(s *Stats) *uint64 { return &s.SharedSourcePorts }},
	{"shared_management", func(s *Stats) *uint64 { return &s.SharedManagement }},
	{"sharing_devices", func(s *Stats) *uint64 { return &s.SharingDevices }},
	{"loops", func(s *Stats) *uint64 { return &s.Loops }},
	{"loops_refused", func(s *Stats) *uint64 { return &s.LoopsRefused }},
	{"loops_died", func(s *Stats) *uint64 { return &s.LoopsDied }},
}

// Map has the counters by name, for JSON.
func (s *Stats) Map() map[string]uint64 {
	m := make(map[string]uint64, len(sums))
	for i := range sums {
		m[sums[i].name] = *sums[i].of(s)
	}
	return m
}

// add counts another loop's.
func (s *Stats) add(o *Stats) {
	for i := range sums {
		*sums[i].of(s) += *sums[i].of(o)
	}
	s.Paths = append(s.Paths, o.Paths...)
}

// PathStats describe one source port; the zero value one that was not used.
type PathStats struct {
	SourcePort       uint16
	Packets, Bytes   uint64
	Messages, Calls  uint64 // segmented messages, system calls
	Errors, Dropped  uint64
	WouldBlock       uint64
	SegmentationUsed bool
	LastError        string
}
