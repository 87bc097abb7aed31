package braid

import (
	"errors"
	"sync"
	"testing"

	"github.com/braid-rdma/braid/internal/session"
)

// A message that comes too late, the channel having ended, is its sender's alone as soon as it is
// finished: whoever finished it does not look at it any more, since it may be another's by then.
// The race detector sees it where it does.
func TestMessageAfterEnd(t *testing.T) {
	client, _ := pair(t, Config{})
	var late []*outgoing
	for i := range 200 {
		kind := []session.Kind{session.Oneway, session.Request}[i%2]
		o, err := client.begin(kind, []byte("too late"), untilReusable)
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, o)
	}
	ended := errors.New("enough")
	client.end(ended)
	var performing sync.WaitGroup
	for _, o := range late {
		performing.Go(func() { client.context.exclusive(func() { o.perform(client.context) }) })
		for !o.arrived() { // sooner than done says so
		}
		if !errors.Is(o.err, ended) {
			t.Errorf("a message after the end has error %v", o.err)
		}
		o.drop()
	}
	performing.Wait()
	if n := heldBlocks(client.context); n != 0 {
		t.Errorf("%d blocks of memory are not free", n)
	}
}
