package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

// Network is a lab that is up.
type Network struct {
	*Plan
}

// Up builds a lab, or returns the one that is up if it has the same options. What
// an interrupted Up has left is removed first; if Up itself fails or is
// interrupted, nothing is left.
func Up(ctx context.Context, o Options) (*Network, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return nil, err
	}
	switch existing, err := Open(o.Name); {
	case err == nil && existing.Options == o:
		return existing, nil
	case err == nil:
		return nil, fmt.Errorf("%w: %s: take it down first", ErrDiffers, o.Name)
	case !errors.Is(err, ErrNotUp):
		return nil, err
	}
	if err := Down(o.Name); err != nil {
		return nil, err
	}
	n := &Network{NewPlan(o)}
	if err := n.build(ctx); err != nil {
		return nil, errors.Join(err, Down(o.Name))
	}
	return n, nil
}

// Open finds a lab that is up.
func Open(name string) (*Network, error) {
	keeper := (&Plan{Options: Options{Name: name}}).Namespace(leafName(0))
	handle, err := handleAt(keeper)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	lo, err := handle.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	var o Options
	if err := json.Unmarshal([]byte(lo.Attrs().Alias), &o); err != nil {
		return nil, fmt.Errorf("%w: %s is not complete", ErrNotUp, name)
	}
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("%w: %s has a description that makes no sense: %w", ErrNotUp, name, err)
	}
	return &Network{NewPlan(o)}, nil
}

// describe keeps the options in the alias of an interface of the first leaf:
// they live exactly as long as the lab does. It is the last step of the building,
// so a lab without them is not complete.
func (n *Network) describe() error {
	text, err := json.Marshal(n.Options)
	if err != nil {
		return err
	}
	return n.at(leafName(0), func(h *netlink.Handle) error {
		lo, err := h.LinkByName("lo")
		if err != nil {
			return err
		}
		return h.LinkSetAlias(lo, string(text))
	})
}

// at runs f with netlink in a node's namespace.
func (n *Network) at(node string, f func(*netlink.Handle) error) error {
	handle, err := handleAt(n.Namespace(node))
	if err != nil {
		return err
	}
	defer handle.Close()
	return f(handle)
}
