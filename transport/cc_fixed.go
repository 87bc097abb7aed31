package transport

// fixedWindow never moves: for measurements, and for networks whose capacity
// is known.
type fixedWindow float64

// NewFixedWindow makes a congestion control with a constant window of MaxWindow packets.
func NewFixedWindow(o *MPOptions) CongestionControl { return fixedWindow(o.MaxWindow) }

func (w fixedWindow) Window() float64           { return float64(w) }
func (fixedWindow) OnAck(Time, bool, Time, int) {}
func (fixedWindow) OnSlowAck()                  {}
func (fixedWindow) OnLoss(Time, int, Time)      {}
func (fixedWindow) OnTimeout()                  {}
func (fixedWindow) OnSpuriousTimeout()          {}
func (fixedWindow) OnUnused()                   {}
func (fixedWindow) OnRestart()                  {}
