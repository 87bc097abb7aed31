package operate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgramThatStops checks that an operator does not wait without end for a program that was stopped after it said who it is.
func TestProgramThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Remote(Identity{PID: 1}, func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if _, err := p.Parameters(context.Background()); !errors.Is(err, ErrSilent) {
			t.Error(err)
		}
		began := time.Now()
		if _, err := p.Gather(context.Background(), maxTook); !errors.Is(err, ErrSilent) || time.Since(began) < maxTook {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
