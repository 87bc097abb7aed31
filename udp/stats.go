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
	SharingDevices            uint64      // other devices that have one of the addresses too
	Paths                     []PathStats // by source port, up to the last in use
}

// Map has the sums by name, for JSON.
func (s *Stats) Map() map[string]uint64 {
	return map[string]uint64{
		"packets_sent": s.PacketsSent, "packets_received": s.PacketsReceived, "packets_diverted": s.PacketsDiverted,
		"packets_injected": s.PacketsInjected, "malformed": s.Malformed, "bad_icrc": s.BadICRC, "bad_pkey": s.BadPKey,
		"unknown_qp": s.UnknownQP, "wrong_source": s.WrongSource, "no_address": s.NoAddress, "socket_overflow": s.SocketOverflow,
		"flood_dropped": s.FloodDropped, "backpressure": s.Backpressure, "send_dropped": s.SendDropped,
		"receive_errors": s.ReceiveErrors, "poll_errors": s.PollErrors, "idle_rounds": s.IdleRounds,
		"fault_dropped": s.FaultDropped, "fault_damaged": s.FaultDamaged, "capture_errors": s.CaptureErrors,
		"shared_source_ports": s.SharedSourcePorts, "shared_management": s.SharedManagement,
		"packets_handed_over": s.PacketsHandedOver, "handover_dropped": s.HandoverDropped, "sharing_devices": s.SharingDevices,
	}
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
