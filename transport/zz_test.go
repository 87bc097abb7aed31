package transport
import ("testing";"unsafe";"fmt")
func TestZZ(t *testing.T){ var m MP; fmt.Println(unsafe.Sizeof(m), unsafe.Sizeof(m.base), unsafe.Sizeof(m.cfg), unsafe.Sizeof(m.attr), unsafe.Sizeof(m.count), unsafe.Sizeof(m.cfg.MP), unsafe.Sizeof(m.timers),unsafe.Sizeof(m.out),unsafe.Sizeof(m.in),unsafe.Sizeof(m.ack),unsafe.Sizeof(m.rtt), unsafe.Sizeof(mpPath{}), unsafe.Sizeof(selective{}), unsafe.Sizeof(ackClock{}), unsafe.Sizeof(mpWindow{}), unsafe.Sizeof(ReceiveQueue{}))}
