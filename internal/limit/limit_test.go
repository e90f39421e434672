package limit_test

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/limit"
)

// All of a quota may be used at once; then it comes back evenly, and whoever waits as told gets one.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := limit.NewTable(limit.Rate{Events: 6, Per: time.Minute}, 0)
		for i := range 6 {
			if wait := table.Take("a"); wait != 0 {
				t.Errorf("event %d has to wait %v", i, wait)
			}
		}
		for range 3 { // refusals cost nothing
			if wait := table.Take("a"); wait != 10*time.Second {
				t.Errorf("event 7 has to wait %v, want 10s", wait)
			}
		}
		if wait := table.Take("b"); wait != 0 {
			t.Errorf("another key has to wait %v", wait)
		}
		<-time.After(10 * time.Second)
		if first, second := table.Take("a"), table.Take("a"); first != 0 || second != 10*time.Second {
			t.Errorf("after the wait: %v, %v; want one event", first, second)
		}
		<-time.After(time.Hour) // more than a quota is not saved up
		free := 0
		for table.Take("a") == 0 {
			free++
		}
		if free != 6 {
			t.Errorf("%d events after an hour, want 6", free)
		}
	})
}

func TestNoRate(t *testing.T) {
	for _, r := range []limit.Rate{{}, {Events: 1}, {Per: time.Minute}} {
		table := limit.NewTable(r, 0)
		for range 100 {
			if wait := table.Take("a"); wait != 0 {
				t.Fatalf("%+v has to wait %v", r, wait)
			}
		}
		if table.Known() != 0 {
			t.Errorf("%+v remembers %d keys", r, table.Known())
		}
	}
}

// Callers with very many addresses make nothing grow, and take no quota from others who are seen meanwhile.
func TestManyKeys(t *testing.T) {
	table := limit.NewTable(limit.Rate{Events: 1, Per: time.Hour}, 1000)
	if wait := table.Take("honest"); wait != 0 {
		t.Fatal(wait)
	}
	for i := range 10_000 {
		a := netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
		if wait := table.Take(limit.Network(a)); wait != 0 {
			t.Fatalf("address %d has to wait %v", i, wait)
		}
		if i%500 == 0 && table.Take("honest") == 0 {
			t.Fatalf("after %d other addresses, what an address has used is forgotten although it was seen", i)
		}
	}
	if n := table.Known(); n != 1000 {
		t.Errorf("%d keys are remembered, want 1000", n)
	}
}

// However many ask at once, no more than the quota pass.
func TestParallel(t *testing.T) {
	table, places := limit.NewTable(limit.Rate{Events: 100, Per: time.Hour}, 0), limit.NewPlaces(7)
	var passed, inside, most, refused atomic.Int64
	var wait sync.WaitGroup
	hold := make(chan struct{})
	for i := range 64 {
		wait.Go(func() {
			for range 20 {
				if table.Take("a") == 0 {
					passed.Add(1)
				}
			}
			leave := places.Enter("a")
			if leave == nil {
				if refused.Add(1) == 64-7 { // all have asked
					close(hold)
				}
				return
			}
			n := inside.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-hold
			leave()
			if other := places.Enter(fmt.Sprint(i)); other == nil {
				t.Error("another key has no place")
			} else {
				other()
			}
		})
	}
	wait.Wait()
	if passed.Load() != 100 || most.Load() != 7 || refused.Load() != 57 {
		t.Errorf("%d events passed, want 100; %d at once, want 7; %d refused", passed.Load(), most.Load(), refused.Load())
	}
	if leave := places.Enter("a"); leave == nil {
		t.Error("places are not given back")
	}
}

func TestNoPlaces(t *testing.T) {
	places := limit.NewPlaces(0)
	for range 100 {
		if places.Enter("a") == nil {
			t.Fatal("no place without a bound")
		}
	}
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := limit.Network(netip.MustParseAddr(address)); got != want {
			t.Errorf("Network(%s) = %q, want %q", address, got, want)
		}
	}
	if got := limit.Network(netip.Addr{}); got != "" {
		t.Errorf("no address is %q", got)
	}
}

func BenchmarkTake(b *testing.B) {
	table := limit.NewTable(limit.Rate{Events: 1 << 40, Per: time.Hour}, 0)
	for b.Loop() {
		table.Take("192.0.2.1")
	}
}
