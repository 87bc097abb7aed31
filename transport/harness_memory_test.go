package transport

func (h *host) checkZero(b []byte, what string) {
	for _, v := range b {
		if v != 0 {
			h.fail("%s was written to", what)
		}
	}
}

// checkEnd compares what is left with what must be, after the last completion.
func (w *world) checkEnd() {
	broken := w.hosts[0].failed || w.hosts[1].failed
	for _, h := range w.hosts {
		for _, o := range h.work.ops {
			if o.wrong && !broken {
				h.fail("a request with a wrong key succeeded")
			}
		}
	}
	for _, h := range w.hosts {
		if !broken {
			h.checkMemory()
		}
	}
	w.ending = true
	for _, h := range w.hosts {
		if err := h.qp.Modify(w.now, Err, nil); err != nil {
			h.fail("modify to ERR: %v", err)
		}
		done := h.work.completed
		h.service()
		if h.work.completed != done {
			h.fail("a request completed twice")
		}
		h.checkReceivesLeft()
	}
}

// checkMemory compares all memory with what the operations say.
func (h *host) checkMemory() {
	for _, o := range h.work.ops {
		h.checkEffect(o)
	}
	m := &h.model
	at := 0
	for _, e := range m.windowExtents {
		h.checkZero(m.window.Bytes[at:e.offset], "memory between the targets")
		at = e.offset + e.length
	}
	h.checkZero(m.window.Bytes[at:], "memory after the targets")
	var cells [atomicCells]uint64
	executed := 0
	for _, o := range h.peer().work.ops {
		switch {
		case o.kind == OpFetchAdd:
			cells[o.cell] += o.swapAdd
		case o.kind == OpCompareSwap && o.compare == o.original:
			cells[o.cell] = o.swapAdd
		}
		if o.kind.isAtomic() {
			executed++
		}
	}
	for i, want := range cells {
		if v := nativeUint64(m.cells.Bytes[8*i:]); v != want {
			h.fail("atomic cell %d is %#x, want %#x", i, v, want)
		}
	}
	if h.mem.atomics != executed {
		h.fail("%d atomics ran, %d were posted", h.mem.atomics, executed)
	}
}
