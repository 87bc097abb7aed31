package oob

import (
	"fmt"
	"math"
	"net/netip"
	"unicode"
	"unicode/utf8"

	"github.com/braid-rdma/braid/verbs"
)

// Params are what one side tells the other.
type Params struct {
	verbs.ConnParams
	PrivateData []byte   // the program's own, at most MaxPrivateData bytes
	Regions     []Region // memory that the other side may reach
}

// Region names memory of the sender.
type Region struct {
	Name   string
	Addr   uint64
	RKey   uint32
	Length uint64
}

// RegionOf is the description of a region under a name.
func RegionOf(name string, m *verbs.MR) Region {
	return Region{Name: name, Addr: m.Addr(), RKey: m.RKey(), Length: uint64(m.Len())}
}

// Region is the region of a name.
func (p *Params) Region(name string) (Region, bool) {
	for _, r := range p.Regions {
		if r.Name == name {
			return r, true
		}
	}
	return Region{}, false
}

// check refuses parameters that no peer can have.
func (p *Params) check() error {
	if err := p.ConnParams.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if p.Addr.Zone() != "" {
		return fmt.Errorf("%w: the zone of %v means nothing on another machine", ErrMalformed, p.Addr)
	}
	if len(p.PrivateData) > MaxPrivateData {
		return fmt.Errorf("%w: %d bytes of private data", ErrMalformed, len(p.PrivateData))
	}
	if len(p.Regions) > MaxRegions {
		return fmt.Errorf("%w: %d regions", ErrMalformed, len(p.Regions))
	}
	names := make(map[string]bool, len(p.Regions))
	for i := range p.Regions {
		r := &p.Regions[i]
		if err := r.check(); err != nil {
			return err
		}
		if names[r.Name] {
			return fmt.Errorf("%w: two regions named %q", ErrMalformed, r.Name)
		}
		names[r.Name] = true
	}
	return nil
}

func (r *Region) check() error {
	if len(r.Name) > MaxRegionName || !utf8.ValidString(r.Name) {
		return fmt.Errorf("%w: name of a region", ErrMalformed)
	}
	for _, c := range r.Name {
		if !unicode.IsPrint(c) {
			return fmt.Errorf("%w: name of a region has characters that cannot be shown", ErrMalformed)
		}
	}
	if r.Length == 0 || r.Length > verbs.MaxRegion || r.Addr > math.MaxUint64-r.Length {
		return fmt.Errorf("%w: region %q of %d bytes at %#x", ErrMalformed, r.Name, r.Length, r.Addr)
	}
	return nil
}

// params are Params as they travel. Numbers of 64 bits are strings, because
// JSON readers of other languages keep 53.
type params struct {
	Type    string         `json:"type"`
	Addr    string         `json:"addr"`
	QPN     uint32         `json:"qpn"`
	PSN     uint32         `json:"psn"`
	MTU     int            `json:"mtu"`
	Paths   int            `json:"paths"`
	Slots   int            `json:"slots,omitempty"`
	Window  int            `json:"window,omitempty"`
	Reads   int            `json:"reads"`
	Private []byte         `json:"private,omitempty"`
	Regions []paramsRegion `json:"regions,omitempty"`
}

type paramsRegion struct {
	Name   string `json:"name"`
	Addr   uint64 `json:"addr,string"`
	RKey   uint32 `json:"rkey"`
	Length uint64 `json:"length,string"`
}

func toWire(p *Params) *params {
	w := &params{
		Type: p.Type.String(), Addr: p.Addr.String(), QPN: uint32(p.QPN), PSN: uint32(p.PSN),
		MTU: p.MTU, Paths: p.Paths, Slots: p.TrackedSlots, Window: p.Window, Reads: p.ReadsServed,
		Private: p.PrivateData,
	}
	for _, r := range p.Regions {
		w.Regions = append(w.Regions, paramsRegion(r))
	}
	return w
}

// fromWire reads and checks what a peer sent.
func fromWire(w *params) (Params, error) {
	kind, err := verbs.ParseQPType(w.Type)
	if err != nil {
		return Params{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	addr, err := netip.ParseAddr(w.Addr)
	if err != nil {
		return Params{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	p := Params{
		ConnParams: verbs.ConnParams{
			Type: kind, Addr: addr, QPN: verbs.QPN(w.QPN), PSN: verbs.PSN(w.PSN),
			MTU: w.MTU, Paths: w.Paths, TrackedSlots: w.Slots, Window: w.Window, ReadsServed: w.Reads,
		},
		PrivateData: w.Private,
	}
	for _, r := range w.Regions {
		p.Regions = append(p.Regions, Region(r))
	}
	return p, p.check()
}
