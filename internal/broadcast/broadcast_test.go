package broadcast

import (
	"sync"
	"testing"
	"testing/synctest"
)

func TestAnnounceWakesEveryWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Broadcast
		b.Announce() // nobody waits
		var mu sync.Mutex
		woken := 0
		for range 3 {
			wait := b.Next()
			go func() {
				<-wait
				mu.Lock()
				woken++
				mu.Unlock()
			}()
			synctest.Wait()
		}
		b.Announce()
		synctest.Wait()
		if woken != 3 {
			t.Errorf("%d of 3 woke", woken)
		}
		select {
		case <-b.Next():
			t.Error("old news woke a new waiter")
		default:
		}
	})
}
