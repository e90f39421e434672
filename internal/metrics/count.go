package metrics

import "time"

// Turn counts a turn that has ended: "ok", "failed" (the code), or the kind of a fault.
func (m *Metrics) Turn(outcome string, took time.Duration) { m.turns.observe(outcome, took) }

// Run counts a run of code by its status, a kernel.Status.
func (m *Metrics) Run(status string, took time.Duration) { m.runs.observe(status, took) }

// Checkpoint counts a checkpoint that was made, or was to be made.
func (m *Metrics) Checkpoint(ok bool, took time.Duration) {
	m.checkpoints.observe(okOrFailed(ok), took)
}

// Restore counts an interpreter that was to come back from its checkpoint: "ok", "unusable" (it
// begins anew, and the chat says so), or "failed".
func (m *Metrics) Restore(outcome string, took time.Duration) { m.restores.observe(outcome, took) }

// An Install is what an install of packages has come to.
type Install struct {
	Fault           string // the kind of its fault, "" when it has succeeded
	Packages        int    // added or changed
	DownloadedBytes int64
	Took            time.Duration
}

// Install counts an install.
func (m *Metrics) Install(i Install) {
	outcome := i.Fault
	switch {
	case outcome != "":
	case i.DownloadedBytes > 0:
		outcome = "downloaded"
	default:
		outcome = "cached"
	}
	m.installs.observe(outcome, i.Took)
	m.packages.Add(float64(max(0, i.Packages)))
	m.downloaded.Add(float64(max(0, i.DownloadedBytes)))
}

// Tokens are those of one request to a model; Cached are some of Input, Thinking of Output.
type Tokens struct{ Input, Cached, Output, Thinking int }

// ModelRequest counts a request to the language model by how its answer has ended (an llm.Stop), or
// by why there was none (an llm.Kind).
func (m *Metrics) ModelRequest(outcome string, took time.Duration, t Tokens) {
	m.modelRequests.observe(outcome, took)
	for kind, n := range map[string]int{"input": t.Input, "cached": t.Cached, "output": t.Output, "thinking": t.Thinking} {
		m.tokens.WithLabelValues(kind).Add(float64(max(0, n)))
	}
}

// Egress counts a connection of a guest by the decision about it, with its bytes.
func (m *Metrics) Egress(decision string, sent, received int64) {
	m.connections.WithLabelValues(listed(decisions(), decision)).Inc()
	m.connectionBytes.WithLabelValues("out").Add(float64(max(0, sent)))
	m.connectionBytes.WithLabelValues("in").Add(float64(max(0, received)))
}

// Auth counts what concerns who may call: a sign-in, a token that was made, a client that was registered; see authEvents.
func (m *Metrics) Auth(event string) { m.auth.WithLabelValues(listed(authEvents(), event)).Inc() }

// Refused counts what a limit of its caller has refused.
func (m *Metrics) Refused(limit string) { m.refused.WithLabelValues(listed(limits(), limit)).Inc() }

// AuditLost counts an event that could not be written to the audit log.
func (m *Metrics) AuditLost() { m.auditLost.Inc() }

func okOrFailed(ok bool) string {
	if ok {
		return "ok"
	}
	return "failed"
}
