package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"runpython/internal/caller"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/limit"
	"runpython/internal/metrics"
	"runpython/internal/oauth"
	"runpython/internal/web"
)

// limits are what each caller may do. Loopback addresses have none: behind a proxy that was not named everybody has one of
// those, and would be shut out together.
type limits struct {
	requests *limit.Table            // of addresses
	events   map[string]*limit.Table // of addresses, by what they do: events of those who decide who may call
	calls    *limit.Table            // of accounts, or of addresses where nobody signs in
	runs     *limit.Places

	connections *limit.Places // of all callers together
	fromAddress *limit.Places // connections of an address
	told        atomic.Int64  // when the log was last told that some are refused, in Unix nanoseconds
	metrics     *metrics.Metrics
}

// documentsPerMinute is how many documents of clients are fetched because of one address.
const documentsPerMinute = 60

func newLimits(c config.Config, m *metrics.Metrics) *limits {
	table := func(events int, per time.Duration) *limit.Table {
		return limit.NewTable(limit.Rate{Events: events, Per: per}, 0)
	}
	return &limits{
		requests: table(c.AddressRequests, time.Minute),
		events: map[string]*limit.Table{
			identity.EventSignedIn: table(c.AddressSignIns, time.Minute), oauth.EventRegistered: table(c.AddressRegistrations, time.Hour),
			oauth.EventDocument: table(documentsPerMinute, time.Minute),
		},
		calls: table(c.UserCalls, time.Minute), runs: limit.NewPlaces(c.UserRuns), metrics: m,
		connections: limit.NewPlaces(connectionsFor(ownFiles())), fromAddress: limit.NewPlaces(c.AddressConnections),
	}
}

// shownLimits are what administrators see of what each person may do.
func shownLimits(c config.Config) []web.Limit {
	bound := func(n int64, text string) string {
		if n == 0 {
			return "any number"
		}
		return text
	}
	number := func(n int) string { return bound(int64(n), strconv.Itoa(n)) }
	return []web.Limit{
		{Name: "Calls in a minute (--user-calls)", Value: number(c.UserCalls)}, {Name: "Calls at once (--user-runs)", Value: number(c.UserRuns)},
		{Name: "Chats (--user-chats)", Value: number(c.UserChats)}, {Name: "Size of the chats (--user-storage)", Value: bound(c.UserStorage, config.FormatSize(c.UserStorage))},
		{Name: "Longest run (--run-timeout)", Value: c.RunTimeout.String()}, {Name: "Memory of a chat (--memory)", Value: config.FormatSize(c.MemoryBytes)},
	}
}

// quotaOf is what of an address has a quota, "" for one that has no limits.
func quotaOf(a netip.Addr) string {
	if a.IsLoopback() {
		return ""
	}
	return limit.Network(a)
}

// handler refuses requests of addresses that send too many, before anything else looks at them.
func (l *limits) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := quotaOf(caller.FromContext(r.Context()).Address); key != "" {
			if wait := l.requests.Take(key); wait > 0 {
				l.metrics.Refused("address_requests")
				tooMany(w, fmt.Sprintf("too many requests from your address: at most %d in a minute", l.requests.Rate().Events), wait)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// tooMany answers a request that is refused for now (RFC 6585, 4).
func tooMany(w http.ResponseWriter, why string, wait time.Duration) {
	seconds := fault.Seconds(wait)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, fmt.Sprintf("%s; try again in %d s\n", why, seconds)) // the client may be gone
}

// Allow reports whether an address may do what an event names once more, and otherwise how long to wait.
func (l *limits) Allow(event, address string) (wait time.Duration, ok bool) {
	table := l.events[event]
	a, err := netip.ParseAddr(address)
	if err != nil || table == nil || quotaOf(a) == "" {
		return 0, true
	}
	if wait = table.Take(quotaOf(a)); wait > 0 {
		l.metrics.Refused(event)
	}
	return wait, wait == 0
}

// runsAgain is when a caller is told to try again whose calls run already: nobody knows when they end.
const runsAgain = 5 * time.Second

// begin takes what a call of owner needs, or says in numbers why it may not be for now. Without an owner the address
// counts. The caller calls leave when the call has ended.
func (l *limits) begin(ctx context.Context, owner string) (leave func(), err error) {
	key := "account " + owner
	if owner == "" {
		if key = quotaOf(caller.FromContext(ctx).Address); key == "" {
			return func() {}, nil
		}
	}
	if leave = l.runs.Enter(key); leave == nil {
		l.metrics.Refused("runs")
		return nil, fault.TryAgainAfter(runsAgain, fmt.Sprintf("%d of your calls are running, the most at once; wait until one has ended, and then send this one again", l.runs.Most()))
	}
	if wait := l.calls.Take(key); wait > 0 {
		leave()
		l.metrics.Refused("calls")
		return nil, fault.TryAgainAfter(wait, fmt.Sprintf("you have sent more calls than the %d allowed in a minute; wait %d s, and then send this one again", l.calls.Rate().Events, fault.Seconds(wait)))
	}
	return leave, nil
}
