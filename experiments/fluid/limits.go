package fluid

// The limits keep a mistyped parameter from taking a machine's memory or hours.
const (
	// maxSteps is four seconds of figure 5 at the default step, some 250,000 RTTs.
	maxSteps = 1 << 24

	// maxVariables bounds the virtual paths of all groups and the links together.
	maxVariables = 1 << 14

	// maxTrajectoryValues bounds the numbers kept for the trajectory: 128 MiB.
	maxTrajectoryValues = 1 << 24

	// stepsPerRTT is the default resolution: half the step changes figures 4
	// and 5 with standard RED by less than a thousandth, at any time.
	stepsPerRTT = 64

	// maxRelaxationPerStep keeps a distance from 2.78, where the classical
	// Runge-Kutta scheme turns a decay into growth.
	maxRelaxationPerStep = 2

	// maxRounds and roundTolerance end the search for a self-consistent R*.
	maxRounds      = 32
	roundTolerance = 1e-3

	// defaultSamples is how many samples a trajectory has where none is asked for.
	defaultSamples = 1000
)
