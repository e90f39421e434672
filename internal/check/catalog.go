package check

import "slices"

// A Severity says how much a finding matters.
type Severity string

// The severities of findings, the worst first. What is for information alone closes no gate.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
)

// Severities returns all of them, the worst first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low, Info} }

// AtLeast reports whether s matters as much as other, or more. A severity that there is not matters least.
func (s Severity) AtLeast(other Severity) bool {
	all := Severities()
	mine := slices.Index(all, s)
	return mine >= 0 && mine <= slices.Index(all, other)
}

// A Rule is what is known of a signal before anything is scanned.
type Rule struct {
	ID       string
	Category string // its id
	Title    string
	About    string   // why it matters, and what passes
	Fail     Severity // of findings when the signal fails
	Partial  Severity // and when it is half right
}

// Rules returns those of all signals, in the order of the report.
func Rules() []Rule {
	all := []Rule{
		{ID: tlsCertificate, Title: "Certificate", Fail: High, Partial: Medium,
			About: "Clients refuse a server whose certificate they cannot verify, and whoever overrides that talks to anybody. The chain must lead to a trusted root, be in date and for this name, with strong keys and signatures, over TLS 1.2 or newer."},
		{ID: authEnforced, Title: "Authorization", Fail: Critical, Partial: Medium,
			About: "Tools that can be called without a token can be called by everybody. A call must be refused with 401, and the challenge must lead by valid metadata (RFC 9728, RFC 8414) to an authorization server with PKCE."},
		{ID: httpsEnforced, Title: "HTTPS enforced", Fail: High, Partial: Low,
			About: "Whoever types the name without https sends the first request, and perhaps a token, in the clear. Plain HTTP must be redirected to https for good, or not be served at all."},
		{ID: hstsPresent, Title: "HSTS", Fail: Medium, Partial: Low,
			About: "Strict-Transport-Security (RFC 6797) makes browsers use https only. It must hold for 180 days or more."},
		{ID: dnssecChain, Title: "DNSSEC", Fail: Low, Partial: Low,
			About: "Without signatures in the DNS a resolver can be lied to about where the server is. The name must be signed from the root to its addresses."},
		{ID: registration, Title: "Client registration", Fail: Medium, Partial: Low,
			About: "A client that nobody has registered by hand must be able to sign in. Client ID Metadata Documents are the way that MCP prefers; dynamic registration (RFC 7591) is half of it."},
		{ID: handshake, Title: "Handshake", Fail: High, Partial: Medium,
			About: "Clients speak streamable HTTP. A live handshake must be accepted in at least one revision of the protocol."},
		{ID: clarity, Title: "Clear instructions", Fail: Low, Partial: Low,
			About: "A model calls what it understands. How clear a text is no program judges, so this counts nowhere; what a lint finds is told."},
		{ID: contextBudget, Title: "Context budget", Fail: Low, Partial: Low,
			About: "Every definition is sent to the model with each conversation. 100 tokens an item are lean; up to 200, or 2,000 in all, count half."},
		{ID: usageExamples, Title: "Usage examples", Fail: Low, Partial: Low,
			About: "Models fill in parameters better when the schema has examples. They must be at its root, valid, and have all required parameters."},
		{ID: stabilityWindow, Title: "Stability window", Fail: Info, Partial: Info,
			About: "Callers rely on what was there yesterday. Thirty days must be observed without a change that breaks callers or weakens security."},
		{ID: toolDescriptions, Title: "Tool descriptions", Fail: Low, Partial: Low,
			About: "A tool without a description is chosen by its name alone. Each must say more than its name does."},
		{ID: paramDescriptions, Title: "Parameter descriptions", Fail: Low, Partial: Low,
			About: "A parameter without a description is guessed at. Each must say more than its name does."},
		{ID: injectionMarkers, Title: "Injection markers", Fail: High, Partial: Medium,
			About: "Texts of tools are read by the model as if they were the user's own. None may tell it to ignore instructions, to hide something from the user or to hand out what is not the tool's business, and none may have hidden parts."},
		{ID: irreversibleOps, Title: "Irreversible operations", Fail: High, Partial: Medium,
			About: "Clients ask the user before a tool destroys, if they know that it does. A tool that deletes, pays or sends must have destructiveHint true and no readOnlyHint."},
		{ID: textJudge, Title: "Judged texts", Fail: Low, Partial: Low,
			About: "Whether a text misleads in ways that no rule knows takes a judge that is no program, so this counts nowhere."},
		{ID: specRecency, Title: "Recent protocol", Fail: Low, Partial: Low,
			About: "New clients speak new revisions. The latest must be spoken; each one behind costs a fifth."},
	}
	for i := range all {
		for _, g := range rubric {
			if slices.ContainsFunc(g.signals, func(w weighted) bool { return w.id == all[i].ID }) {
				all[i].Category = g.id
			}
		}
	}
	return all
}

// RuleOf returns the rule of a signal, and whether there is one.
func RuleOf(id string) (Rule, bool) {
	all := Rules()
	if i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id }); i >= 0 {
		return all[i], true
	}
	return Rule{}, false
}

// CategoryIDs returns the names of all categories, in the order of the report.
func CategoryIDs() []string {
	var all []string
	for _, g := range rubric {
		all = append(all, g.id)
	}
	return all
}
