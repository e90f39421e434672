// Package metrics counts what an operator wants to see and shows it in the text format of
// Prometheus, on a registry of its own.
//
// Whoever has something to count calls a method of [Metrics]; what can be asked for at any time is
// a function of [Sources]. Labels have few values, which are listed in labels.go: never an id, a
// name that somebody chose, an address.
//
// # Trust
//
// Its callers are of this program. A value of a label that is not listed is counted as "other", so
// that nothing from outside can make the page grow.
//
// # Failure
//
// Counting cannot fail. A function of Sources must not block.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Guests are counts of guests, some of them since the start of the program.
type Guests struct {
	Started, Restored, Failed int64 // since the start; Failed are starts that were tried again or given up
	Live, Pooled              int64 // now
	Waiting                   int64 // starts that wait for others
}

// Sources are what is asked for when somebody looks. All must be set; they are called from many
// goroutines, and not before the handler serves.
type Sources struct {
	Version      string
	Guests       func() Guests
	Interpreters func() int // of chats, that live
	Turns        func() int // under way, those that wait for their chat included
}

// Metrics are the numbers of one program. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	turns, runs, checkpoints, restores *outcomes
	installs, modelRequests            *outcomes

	packages, downloaded prometheus.Counter
	tokens               *prometheus.CounterVec
	connections          *prometheus.CounterVec
	connectionBytes      *prometheus.CounterVec
	auth, refused, web   *prometheus.CounterVec
	webNow               prometheus.Gauge
	auditLost            prometheus.Counter
}

// outcomes count something by how it ended, and how long it took.
type outcomes struct {
	total   *prometheus.CounterVec
	seconds prometheus.Histogram
	known   []string
}

// Buckets of times: from half a millisecond, which a call in a living chat takes, to two minutes.
const (
	leastBucket  = 0.0005
	bucketFactor = 4
	buckets      = 10
)

// New returns Metrics whose counters are all zero, and there to be read.
func New(s Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.turns = m.outcomes("turn", "Turns", turnOutcomes())
	m.runs = m.outcomes("run", "Runs of code", runOutcomes())
	m.checkpoints = m.outcomes("checkpoint", "Checkpoints of interpreters", checkpointOutcomes())
	m.restores = m.outcomes("restore", "Interpreters that were to come back from checkpoints", restoreOutcomes())
	m.installs = m.outcomes("install", "Installs of packages", installOutcomes())
	m.modelRequests = m.outcomes("model_request", "Requests to the language model", modelOutcomes())
	m.packages = m.counter("runpython_packages_installed_total", "Packages that installs have added to chats.")
	m.downloaded = m.counter("runpython_package_downloaded_bytes_total", "Bytes of wheels that were not in the cache.")
	m.tokens = m.vector("runpython_model_tokens_total", "Tokens of the language model; cached are some of input, thinking of output.", "kind", tokenKinds())
	m.connections = m.vector("runpython_egress_connections_total", "Connections of guests to the outside, by decision.", "decision", decisions())
	m.connectionBytes = m.vector("runpython_egress_bytes_total", "Bytes of those connections, out of guests and into them.", "direction", directions())
	m.refused = m.vector("runpython_refused_total", "Requests and calls that a limit of their caller has refused.", "limit", limits())
	m.auditLost = m.counter("runpython_audit_lost_total", "Events that could not be written to the audit log.")
	m.auth = m.vector("runpython_auth_events_total", "What concerns who may call, by event.", "event", authEvents())
	m.web = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "runpython_http_requests_total", Help: "HTTP requests that were answered, by what was asked for and class of status."}, []string{"route", "status"})
	for _, route := range routes() {
		for _, status := range statuses() {
			m.web.WithLabelValues(route, status)
		}
	}
	m.webNow = prometheus.NewGauge(prometheus.GaugeOpts{Name: "runpython_http_requests_in_flight", Help: "HTTP requests that are being answered, open streams included."})
	m.registry.MustRegister(m.web, m.webNow)
	m.observe(s)
	return m
}

// observe registers what is asked for when somebody looks.
func (m *Metrics) observe(s Sources) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "runpython_build_info", Help: "1, with the version of the program."}, []string{"version"})
	info.WithLabelValues(s.Version).Set(1)
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counter := func(name, help string, value func(Guests) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(s.Guests())) })
	}
	m.registry.MustRegister(info,
		gauge("runpython_guests", "Guests that exist, the pool's included.", func() float64 { return float64(s.Guests().Live) }),
		gauge("runpython_guests_pooled", "Guests that wait in the pool.", func() float64 { return float64(s.Guests().Pooled) }),
		gauge("runpython_guest_starts_waiting", "Starts of guests that wait for other starts.", func() float64 { return float64(s.Guests().Waiting) }),
		counter("runpython_guests_started_total", "Guests started from nothing.", func(g Guests) int64 { return g.Started }),
		counter("runpython_guests_restored_total", "Guests restored from an image.", func(g Guests) int64 { return g.Restored }),
		counter("runpython_guest_start_retries_total", "Starts of guests that were tried again or given up.", func(g Guests) int64 { return g.Failed }),
		gauge("runpython_interpreters", "Interpreters of chats that live.", func() float64 { return float64(s.Interpreters()) }),
		gauge("runpython_turns_in_flight", "Turns under way, those that wait for their chat included.", func() float64 { return float64(s.Turns()) }),
	)
}

// Handler serves all numbers as Prometheus wants them. It is for operators, not for callers.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gatherer is what Handler shows, for tests.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// outcomes makes the counter and the histogram of what, a word of metric names.
func (m *Metrics) outcomes(what, help string, known []string) *outcomes {
	o := &outcomes{
		total: m.vector("runpython_"+what+"s_total", help+", by outcome.", "outcome", known), known: known,
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "runpython_" + what + "_seconds", Help: help + ": how long they took.",
			Buckets: prometheus.ExponentialBuckets(leastBucket, bucketFactor, buckets),
		}),
	}
	m.registry.MustRegister(o.seconds)
	return o
}

func (o *outcomes) observe(outcome string, took time.Duration) {
	o.total.WithLabelValues(listed(o.known, outcome)).Inc()
	o.seconds.Observe(took.Seconds())
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// vector makes a counter with one label, all of whose values are there from the start.
func (m *Metrics) vector(name, help, label string, known []string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range append(known, other) {
		v.WithLabelValues(value)
	}
	m.registry.MustRegister(v)
	return v
}
