package lab

import "errors"

// Errors that can be told apart with errors.Is.
var (
	// ErrOptions means that the network asked for cannot be built.
	ErrOptions = errors.New("invalid lab")
	// ErrPrivilege means that the process may not do what the lab needs.
	ErrPrivilege = errors.New("missing privilege")
	// ErrFeature means that the kernel lacks something that the lab needs.
	ErrFeature = errors.New("missing kernel feature")
	// ErrNotUp means that there is no such lab.
	ErrNotUp = errors.New("the lab is not up")
	// ErrDiffers means that a lab of this name is up, but with other options.
	ErrDiffers = errors.New("a lab with other options is up")
	// ErrNode means that the lab has no node or path of that name or number.
	ErrNode = errors.New("no such part of the lab")
)
