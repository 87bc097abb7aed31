package scenario

import (
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/transport"
)

// Choose sets the path policy of all MP transports, and the congestion control
// of all transports that know it: the window of MP or the rate of RC. Of an empty
// name nothing changes; a name that fits no transport is an error.
func (s *Scenario) Choose(policy, control string) error {
	var sets []string
	if policy != "" {
		e, err := transport.PathPolicies.Lookup(policy)
		if err != nil {
			return err
		}
		if sets = s.setsOf(kindMP, "policy", e.Name); len(sets) == 0 {
			return fmt.Errorf("a path policy belongs to transports of kind mp, and this scenario has none")
		}
	}
	if control != "" {
		chosen, err := s.chooseControl(control)
		if err != nil {
			return err
		}
		sets = append(sets, chosen...)
	}
	if len(sets) == 0 {
		return nil
	}
	return s.Set(sets...)
}

func (s *Scenario) chooseControl(control string) ([]string, error) {
	window, notWindow := transport.CongestionControls.Lookup(control)
	rate, notRate := transport.RateControls.Lookup(control)
	if notWindow != nil && notRate != nil {
		known := slices.Concat(transport.CongestionControls.Names(), transport.RateControls.Names())
		return nil, &transport.UnknownNameError{Kind: "congestion control", Name: control, Known: known}
	}
	var sets []string
	if notWindow == nil {
		sets = s.setsOf(kindMP, "control", window.Name)
	}
	if notRate == nil {
		sets = append(sets, s.setsOf(kindRC, "rate", rate.Name)...)
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("the congestion control %q fits no transport of this scenario", control)
	}
	return sets, nil
}

// setsOf are the assignments that give a field of all transports of a kind a value.
func (s *Scenario) setsOf(kind, field, value string) []string {
	var sets []string
	for _, name := range sortedKeys(s.Transports) {
		if s.Transports[name].Kind == kind {
			sets = append(sets, fmt.Sprintf("transports.%s.%s=%s", name, field, value))
		}
	}
	return sets
}
