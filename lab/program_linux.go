package lab

import (
	"fmt"
	"math"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// settings is what a port's program is told. Its layout is the program's.
type settings struct {
	Loss uint64 // of 2^32 packets, this many are dropped at random
	// PicosPerByte is the time that a byte takes at the port's rate; 0: the port
	// has no queue to keep an account of.
	PicosPerByte uint64
	Credit       uint64 // ns that the token bucket saves up while it is idle
	Limit        uint64 // ns of queue from which the port drops
	Threshold    uint64 // ns of queue from which the port marks; 0: never
}

// state is what the program writes.
type state struct {
	Ends    uint64 // when the last packet of the queue will have left, in ns
	Packets uint64 // that came, those dropped included
	Bytes   uint64
	Marked  uint64
	Dropped uint64 // by Loss; what a full queue drops is the token bucket's to count
}

// Offsets of the fields above, and of the fields of the context (__sk_buff).
const (
	loss, picosPerByte, credit, limit, threshold = 0, 8, 16, 24, 32
	ends, packets, bytes, marked, dropped        = 0, 8, 16, 24, 32

	skbWireLength, skbSegments = 160, 164
)

// The verdicts of a classifier that acts directly.
const (
	verdictPass = 0
	verdictDrop = 2
)

// maps are those of one port.
type maps struct {
	settings, state *ebpf.Map
}

const (
	settingsMap = "lab_settings"
	stateMap    = "lab_state"
)

func newMaps() (maps, error) {
	var m maps
	var err error
	one := ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, MaxEntries: 1}
	for _, each := range []struct {
		to   **ebpf.Map
		name string
		size int
	}{{&m.settings, settingsMap, 5 * 8}, {&m.state, stateMap, 5 * 8}} {
		spec := one
		spec.Name, spec.ValueSize = each.name, uint32(each.size)
		if *each.to, err = ebpf.NewMap(&spec); err != nil {
			m.close()
			return m, explain(err, "creating an eBPF map", "eBPF (CONFIG_BPF_SYSCALL)")
		}
	}
	return m, nil
}

func (m maps) close() {
	for _, each := range []*ebpf.Map{m.settings, m.state} {
		if each != nil {
			_ = each.Close()
		}
	}
}

// newProgram makes the program of one port. Registers: R6 context, R7 state, R8
// bytes and then their time, R9 packets.
//
// The queue is a token bucket's account, as the port's own: it ends when all that
// came has left at the port's rate, and it cannot have ended earlier than the
// bucket's credit ago. How long a packet waits is the end less the present. The
// account is changed by atomic additions; between two processors it may err by
// a packet.
func newProgram(m maps) (*ebpf.Program, error) {
	count := func(field int16) asm.Instruction { return asm.AddAtomic.Mem(asm.R7, asm.R9, asm.DWord, field) }
	get := func(to asm.Register, field int16) asm.Instructions {
		return asm.Instructions{
			asm.LoadMapValue(to, m.settings.FD(), 0),
			asm.LoadMem(to, to, field, asm.DWord),
		}
	}
	program := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMapValue(asm.R7, m.state.FD(), 0),
		asm.LoadMem(asm.R8, asm.R6, skbWireLength, asm.Word),
		asm.LoadMem(asm.R9, asm.R6, skbSegments, asm.Word),
		asm.JNE.Imm(asm.R9, 0, "counted"),
		asm.Mov.Imm(asm.R9, 1),
		count(packets).WithSymbol("counted"),
		asm.AddAtomic.Mem(asm.R7, asm.R8, asm.DWord, bytes),

		asm.FnGetPrandomU32.Call(),
		asm.Mov.Reg32(asm.R0, asm.R0), // clears the upper half
	}
	program = append(program, get(asm.R1, loss)...)
	program = append(program,
		asm.JGE.Reg(asm.R0, asm.R1, "queue"),
		count(dropped),
		asm.Mov.Imm(asm.R0, verdictDrop),
		asm.Return(),
	)
	queue := get(asm.R1, picosPerByte)
	queue[0] = queue[0].WithSymbol("queue")
	program = append(program, queue...)
	program = append(program,
		asm.JEq.Imm(asm.R1, 0, "pass"),
		asm.Mul.Reg(asm.R8, asm.R1),
		asm.Div.Imm(asm.R8, 1000),
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(asm.R3, asm.R0),
	)
	program = append(program, get(asm.R2, credit)...)
	program = append(program,
		asm.Sub.Reg(asm.R3, asm.R2),
		asm.LoadMem(asm.R4, asm.R7, ends, asm.DWord),
		asm.JGE.Reg(asm.R4, asm.R3, "busy"),
		asm.StoreMem(asm.R7, ends, asm.R3, asm.DWord),
		asm.Mov.Reg(asm.R4, asm.R3),
		asm.Sub.Reg(asm.R4, asm.R0).WithSymbol("busy"), // the wait so far, possibly negative
	)
	program = append(program, get(asm.R2, limit)...)
	program = append(program,
		asm.JSGT.Reg(asm.R4, asm.R2, "mark"), // the bucket drops it: it does not queue
		asm.AddAtomic.Mem(asm.R7, asm.R8, asm.DWord, ends),
	)
	mark := get(asm.R2, threshold)
	mark[0] = mark[0].WithSymbol("mark")
	program = append(program, mark...)
	program = append(program,
		asm.JEq.Imm(asm.R2, 0, "pass"),
		asm.JSLT.Reg(asm.R4, asm.R2, "pass"),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.FnSkbEcnSetCe.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		count(marked),
		asm.Mov.Imm(asm.R0, verdictPass).WithSymbol("pass"),
		asm.Return(),
	)
	loaded, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "lab_port", Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: program,
	})
	if err != nil {
		return nil, explain(err, "loading a port's eBPF program", "eBPF classifiers (CONFIG_NET_CLS_BPF)")
	}
	return loaded, nil
}

// openMaps finds the maps of a program that is attached somewhere.
func openMaps(program int) (maps, error) {
	var m maps
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(program))
	if err != nil {
		return m, explain(err, "finding a port's eBPF program", "eBPF")
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return m, err
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		each, err := ebpf.NewMapFromID(id)
		if err != nil {
			m.close()
			return m, explain(err, "finding a port's eBPF map", "eBPF")
		}
		switch info, err := each.Info(); {
		case err == nil && info.Name == settingsMap:
			m.settings = each
		case err == nil && info.Name == stateMap:
			m.state = each
		default:
			_ = each.Close()
		}
	}
	if m.settings == nil || m.state == nil {
		m.close()
		return m, fmt.Errorf("%w: program %d is not a port's", ErrNode, program)
	}
	return m, nil
}

// lossOf turns a probability into the program's terms. 1 loses everything.
func lossOf(probability float64) uint64 {
	return uint64(math.Round(probability * (1 << 32)))
}

// picosAt is the time of a byte at a rate.
func picosAt(rate int64) uint64 { return uint64(8e12 / float64(rate)) }

func nanoseconds(d time.Duration) uint64 { return uint64(max(0, d.Nanoseconds())) }
