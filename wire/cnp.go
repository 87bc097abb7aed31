package wire

// A congestion notification packet is BTH, in which DestQP names the queue pair
// that should slow down, and sixteen reserved bytes.
const cnpReservedLen = 16

// CNPLen is the length of a congestion notification packet without its ICRC.
const CNPLen = BTHLen + cnpReservedLen

func putCNPReserved(b []byte) { clear(b[:cnpReservedLen]) }
