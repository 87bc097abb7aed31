package verbs

import "testing"

// What PostSendMore posts is transmitted by Ring, or with the next request.
func TestPostSendMore(t *testing.T) {
	q, cq, m, to := newDatagramQP(t)
	post := func(post func(*SendWR) error, id uint64) {
		t.Helper()
		if err := post(&SendWR{ID: id, Op: OpSend, SGEs: []SGE{m.SGE(0, 8)}, AH: to}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(ids ...uint64) {
		t.Helper()
		var out [4]Completion
		n, err := cq.Poll(out[:])
		if n != len(ids) || err != nil {
			t.Fatalf("%d completions, %v, want %d", n, err, len(ids))
		}
		for i, id := range ids {
			if out[i].WRID != id {
				t.Errorf("completion of %d, want %d", out[i].WRID, id)
			}
		}
	}
	post(q.PostSendMore, 1)
	post(q.PostSendMore, 2)
	want()
	if err := q.Ring(); err != nil {
		t.Fatal(err)
	}
	want(1, 2)
	post(q.PostSendMore, 3)
	want()
	post(q.PostSend, 4)
	want(3, 4)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if q.PostSendMore(&SendWR{Op: OpSend, AH: to}) == nil || q.Ring() == nil {
		t.Error("a closed queue pair can be used")
	}
}
