package transport

// eventKind is what happens at an instant of virtual time.
type eventKind uint8

const (
	arrives     eventKind = iota // a packet reaches a host
	timerFires                   // the timer that an engine keeps for a queue pair
	posts                        // a host's program posts work
	faultBegins                  // of the script
	faultEnds
	interfaceFree // a host's interface takes packets again
)

type event struct {
	at     Time
	order  uint64 // ties in time break by the order of scheduling
	kind   eventKind
	w      *world
	host   *host // nil: the event is not a host's
	parcel *parcel
	fault  *fault
}

// eventQueue is a binary heap by time and order.
type eventQueue struct {
	heap  []event
	order uint64
}

func (q *eventQueue) len() int { return len(q.heap) }

func (q *eventQueue) peek() *event {
	if len(q.heap) == 0 {
		return nil
	}
	return &q.heap[0]
}

func (q *eventQueue) before(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (q *eventQueue) push(e event) {
	q.order++
	e.order = q.order
	q.heap = append(q.heap, e)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.before(i, up) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *eventQueue) pop() event {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && q.before(down+1, down) {
			down++
		}
		if !q.before(down, i) {
			return top
		}
		q.heap[i], q.heap[down] = q.heap[down], q.heap[i]
		i = down
	}
}
