package bundle

import "net/netip"

// places bounds the connections that a listener has and its program does not: those
// that wait for queue pairs and those that wait for Accept. Each belongs to an address
// that is proven, which holds at most a share of what is free: so whoever owns a few
// addresses takes their shares and no more.
type places struct {
	taken int
	held  map[netip.Addr]int
}

// admit says whether an address may have one more.
func (p *places) admit(peer netip.Addr) bool {
	free := maxPlaces - p.taken
	return free > 0 && p.held[peer] < max(1, free/placeShare)
}

func (p *places) take(peer netip.Addr) {
	p.taken++
	p.held[peer]++
}

// leave forgets the address with its last place: nothing is kept of who holds nothing.
func (p *places) leave(peer netip.Addr) {
	p.taken--
	if p.held[peer]--; p.held[peer] == 0 {
		delete(p.held, peer)
	}
}
