package check

import (
	"math"
	"slices"
)

// A Profile says how much signals and categories count.
type Profile string

// The profiles.
const (
	Local     Profile = "local"     // what was not measured does not count
	VerifyMCP Profile = "verifymcp" // resembles a public scanner: a history that is not known counts as none
	Strict    Profile = "strict"    // what is half right, or not measured, counts as wrong
)

// Profiles returns all of them, the usual one first.
func Profiles() []Profile { return []Profile{Local, VerifyMCP, Strict} }

// A group is a category of the rubric.
type group struct {
	id, title string
	weight    float64 // in hundredths of the score
	resembled float64 // the same, in VerifyMCP
	signals   []weighted
}

// A weighted signal is one of the rubric, with its part of the category.
type weighted struct {
	id     string
	weight float64
}

// Signals of the rubric.
const (
	tlsCertificate    = "tls.certificate"
	authEnforced      = "auth.enforced"
	httpsEnforced     = "https.enforced"
	hstsPresent       = "hsts.present"
	dnssecChain       = "dnssec.chain"
	registration      = "oauth.client_registration"
	handshake         = "transport.handshake"
	clarity           = "schema.instruction_clarity"
	contextBudget     = "schema.context_budget"
	usageExamples     = "schema.usage_examples"
	stabilityWindow   = "stability.window"
	toolDescriptions  = "coverage.tool_descriptions"
	paramDescriptions = "coverage.param_descriptions"
	injectionMarkers  = "safety.injection_markers"
	irreversibleOps   = "safety.irreversible_ops"
	textJudge         = "safety.text_judge"
	specRecency       = "caps.spec_recency"
)

// rubric is what is judged, and how much it counts. Signals that need a judge have a weight that nothing uses yet.
var rubric = []group{
	{"endpoint_security", "Endpoint Security", 30, 25, []weighted{
		{tlsCertificate, 25}, {authEnforced, 40}, {httpsEnforced, 15}, {hstsPresent, 12}, {dnssecChain, 4}, {registration, 4}}},
	{"transport", "Transport & Reachability", 10, 10, []weighted{{handshake, 100}}},
	{"schema_quality", "Schema Quality & AI Usability", 10, 10, []weighted{{clarity, 20}, {contextBudget, 55}, {usageExamples, 25}}},
	{"stability", "Stability & Change Management", 15, 15, []weighted{{stabilityWindow, 100}}},
	{"tool_coverage", "Tool Coverage", 15, 15, []weighted{{toolDescriptions, 50}, {paramDescriptions, 50}}},
	{"tool_safety", "Tool Safety", 15, 15, []weighted{{injectionMarkers, 50}, {irreversibleOps, 30}, {textJudge, 20}}},
	{"capabilities", "Capabilities", 5, 10, []weighted{{specRecency, 100}}},
}

// SignalIDs returns the names of all signals, in the order of the report.
func SignalIDs() []string {
	var all []string
	for _, g := range rubric {
		for _, s := range g.signals {
			all = append(all, s.id)
		}
	}
	return all
}

// score fills in what counts, the scores of the categories and that of the whole.
func (r *Report) score(signals map[string]Signal, wanted func(id string) bool) {
	for _, g := range rubric {
		c := Category{ID: g.id, Title: g.title, Weight: g.weight}
		if r.Profile == VerifyMCP {
			c.Weight = g.resembled
		}
		for _, w := range g.signals {
			if !wanted(w.id) {
				continue
			}
			s := signals[w.id]
			s.ID, s.Weight = w.id, w.weight
			r.Profile.count(&s)
			c.Signals = append(c.Signals, s)
			switch s.Status {
			case NotApplicable:
			case Error, Unverified:
				r.Coverage.Total++
			default:
				r.Coverage.Total++
				r.Coverage.Measured++
			}
		}
		if len(c.Signals) == 0 {
			continue
		}
		if exact, ok := weigh(c.Signals, Signal.counted); ok {
			c.Score = rounded(exact)
		}
		r.Categories = append(r.Categories, c)
	}
	if r.Era == "" {
		return // of what is no MCP server, no score of one is told
	}
	r.Score = total(r.Categories, Signal.counted)
	r.Possible = total(r.Categories, Signal.reachable)
}

// count decides whether a signal counts in the profile, and how much.
func (p Profile) count(s *Signal) {
	switch s.Status {
	case Pass:
		s.Credit, s.Scored = 1, true
	case Fail:
		s.Credit, s.Scored = 0, true
	case Partial:
		s.Scored = true
		if p == Strict {
			s.Credit = 0
		}
	case NotApplicable:
		s.Credit = 0
	case Unverified:
		// What no program judges counts nowhere.
		s.Credit, s.Scored = 0, p != Local && s.ID == stabilityWindow
	case Error:
		s.Credit, s.Scored = 0, p == Strict
	}
}

// counted is the credit of a signal.
func (s Signal) counted() float64 { return s.Credit }

// reachable is the credit that a signal could have today. Only days bring the window of stability.
func (s Signal) reachable() float64 {
	if s.ID == stabilityWindow {
		return s.Credit
	}
	return 1
}

// weigh returns the mean credit in hundredths, and whether any signal counts.
func weigh(signals []Signal, credit func(Signal) float64) (float64, bool) {
	sum, weight := 0.0, 0.0
	for _, s := range signals {
		if s.Scored {
			sum += s.Weight * credit(s)
			weight += s.Weight
		}
	}
	if weight == 0 {
		return 0, false
	}
	return 100 * sum / weight, true
}

// total returns the score of all categories, those without one left out, or nil.
func total(categories []Category, credit func(Signal) float64) *int {
	sum, weight := 0.0, 0.0
	for _, c := range categories {
		if exact, ok := weigh(c.Signals, credit); ok {
			sum += c.Weight * exact
			weight += c.Weight
		}
	}
	if weight == 0 {
		return nil
	}
	return rounded(sum / weight)
}

func rounded(exact float64) *int {
	n := int(math.Round(exact))
	return &n
}

// Signal returns the signal of this name, and whether the report has it.
func (r *Report) Signal(id string) (Signal, bool) {
	for _, c := range r.Categories {
		if i := slices.IndexFunc(c.Signals, func(s Signal) bool { return s.ID == id }); i >= 0 {
			return c.Signals[i], true
		}
	}
	return Signal{}, false
}
