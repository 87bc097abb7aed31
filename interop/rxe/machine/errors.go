package machine

import "errors"

var (
	// ErrUnavailable is a host that cannot run the machine; the text that wraps
	// it names what is missing.
	ErrUnavailable = errors.New("the virtual machine cannot run here")
	// ErrImage is a set of files from which no system can be made.
	ErrImage = errors.New("machine: no image")
	// ErrBoot is a machine that did not come up; the text that wraps it ends with
	// what the machine printed.
	ErrBoot = errors.New("machine: no boot")
)
