package transport

import (
	"reflect"
	"testing"
)

// Every field of a request reaches the queue, also one that is new.
func TestPostCopiesTheWholeRequest(t *testing.T) {
	s := newRCScript(t, nil)
	wr := SendWR{SGEs: []SGE{s.region.span(3, 5), {}, s.region.span(9, 8)}}
	v := reflect.ValueOf(&wr).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanUint() {
			f.SetUint(uint64(i + 1))
		} else if f.Kind() != reflect.Slice {
			t.Fatalf("a field of kind %v", f.Kind())
		}
	}
	var q sendQueue
	q.push(&wr, 13)
	got := q.wqes.at(0).SendWR
	want := wr
	want.SGEs = []SGE{wr.SGEs[0], wr.SGEs[2]}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("queued %+v, want %+v", got, want)
	}
}
