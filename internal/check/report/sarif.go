package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"runpython/internal/check"
)

// sarifSchema is that of SARIF 2.1.0 (OASIS, Errata 01).
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// sarifFingerprint is the name and version of how fingerprints are made.
const sarifFingerprint = "runpythonCheck/v1"

// The parts of SARIF that are written; the numbers are of its specification.
type (
	sarifLog struct { // 3.13
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool        sarifTool         `json:"tool"`
		Details     sarifDetails      `json:"automationDetails"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct { // 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name       string      `json:"name"`
		Version    string      `json:"version"`
		Rules      []sarifRule `json:"rules"`
		Properties any         `json:"properties"`
	}
	sarifDetails struct { // 3.17
		ID string `json:"id"`
	}
	sarifText struct { // 3.11, 3.12
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifRule struct { // 3.49
		ID         string         `json:"id"`
		Name       string         `json:"name"`
		Short      sarifText      `json:"shortDescription"`
		Full       sarifText      `json:"fullDescription"`
		Help       sarifText      `json:"help"`
		Default    sarifLevel     `json:"defaultConfiguration"`
		Properties map[string]any `json:"properties"`
	}
	sarifLevel struct { // 3.50
		Level string `json:"level"`
	}
	sarifInvocation struct { // 3.20
		Successful    bool                `json:"executionSuccessful"`
		StartTime     *time.Time          `json:"startTimeUtc,omitempty"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct { // 3.58
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct { // 3.27
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		State        string             `json:"baselineState,omitempty"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Properties   map[string]any     `json:"properties"`
	}
	sarifLocation struct { // 3.28
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct { // 3.29
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct { // 3.4
		URI string `json:"uri"`
	}
	sarifRegion struct { // 3.30
		StartLine int `json:"startLine"`
	}
	sarifLogical struct { // 3.33
		Name     string `json:"name"`
		FullName string `json:"fullyQualifiedName"`
		Kind     string `json:"kind"`
	}
	sarifSuppression struct { // 3.35
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification"`
	}
)

// writeSARIF writes one run with the findings of all targets: code scanning takes one run of a tool in a category.
func writeSARIF(w io.Writer, s *Set, anchor string) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: s.Tool.Name, Version: s.Tool.Version, Rules: sarifRules(), Properties: map[string]any{"rubric": s.Tool.Rubric}}},
		Details:    sarifDetails{"runpython-check/"},
		Results:    []sarifResult{},
		ColumnKind: "unicodeCodePoints",
	}
	invocation := sarifInvocation{Successful: len(s.Failures) == 0, Notifications: []sarifNotification{}}
	for _, r := range s.Reports {
		if invocation.StartTime == nil || r.StartedAt.Before(*invocation.StartTime) {
			invocation.StartTime = &r.StartedAt
		}
		run.Results = append(run.Results, sarifResults(r, anchor)...)
	}
	for _, f := range s.Failures {
		invocation.Notifications = append(invocation.Notifications, sarifNotification{"error", sarifMessage(title(f.Name, f.Target) + ": " + f.Problem)})
	}
	run.Invocations = []sarifInvocation{invocation}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}) //nolint:wrapcheck // Write says what was written
}

func sarifRules() []sarifRule {
	var all []sarifRule
	for _, r := range check.Rules() {
		rule := sarifRule{
			ID: r.ID, Name: sarifName(r.Title), Short: sarifText{Text: r.Title + "."}, Full: sarifText{Text: r.About},
			Help:       sarifText{Text: r.About + " docs/check.md has more.", Markdown: prose(r.About) + "\n\n`docs/check.md` has more."},
			Default:    sarifLevel{levelOf(r.Fail)},
			Properties: map[string]any{"category": r.Category, "tags": []string{"security", "mcp", r.Category}, "precision": "high"},
		}
		if n := securitySeverity(r.Fail); n != "" {
			rule.Properties["security-severity"] = n
		}
		all = append(all, rule)
	}
	return all
}

// sarifName returns words as one name (3.49.7).
func sarifName(title string) string {
	var name strings.Builder
	for word := range strings.FieldsSeq(title) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

func levelOf(s check.Severity) string {
	switch s {
	case check.Critical, check.High:
		return "error"
	case check.Medium:
		return "warning"
	case check.Low, check.Info:
	}
	return "note"
}

// securitySeverity is a number as code scanning sorts by, within the bounds that it has for its four words; "" for what is for information.
func securitySeverity(s check.Severity) string {
	return map[check.Severity]string{check.Critical: "9.5", check.High: "8.0", check.Medium: "5.5", check.Low: "2.0"}[s]
}

func sarifResults(r *check.Report, anchor string) []sarifResult {
	var all []sarifResult
	for i := range r.Findings {
		f := &r.Findings[i]
		result := sarifAt(r, anchor, check.GoneFinding{Fingerprint: f.Fingerprint, Signal: f.Signal, Location: f.Location, Message: f.Message})
		result.Level = levelOf(f.Severity)
		if f.Fix != "" {
			result.Message.Text += "\nFix: " + f.Fix
		}
		result.Properties["severity"] = f.Severity
		if f.Rule != "" {
			result.Properties["rule"] = f.Rule
		}
		switch f.State {
		case check.New:
			result.State = "new"
		case check.Known:
			result.State = "unchanged"
		}
		if s := f.Suppressed; s != nil {
			result.Suppressions = []sarifSuppression{{Kind: "external", Status: "accepted", Justification: s.Reason + " (until " + s.Expires + ")"}}
		}
		all = append(all, result)
	}
	if r.Baseline == nil {
		return all
	}
	for _, g := range r.Baseline.Gone {
		result := sarifAt(r, anchor, g)
		result.Level, result.State = "note", "absent"
		all = append(all, result)
	}
	return all
}

// sarifMessage returns a text in which nothing is a link (3.11.6), which it would be in plain text too.
func sarifMessage(text string) sarifText {
	return sarifText{Text: strings.ReplaceAll(text, "](", "] (")}
}

// sarifAt returns a result with what it is about and where.
func sarifAt(r *check.Report, anchor string, g check.GoneFinding) sarifResult {
	sum := sha256.Sum256([]byte(r.Target + "\n" + g.Fingerprint))
	result := sarifResult{
		RuleID: g.Signal, RuleIndex: slices.IndexFunc(check.Rules(), func(rule check.Rule) bool { return rule.ID == g.Signal }),
		Message:      sarifMessage(fmt.Sprintf("%s: %s", title(r.Name, r.Target), g.Message)),
		Fingerprints: map[string]string{sarifFingerprint: hex.EncodeToString(sum[:16])},
		Properties:   map[string]any{"target": r.Target},
		Locations:    []sarifLocation{{Logical: []sarifLogical{{Name: path.Base(g.Location), FullName: g.Location, Kind: "member"}}}},
	}
	if anchor != "" {
		result.Locations[0].Physical = &sarifPhysical{sarifArtifact{anchor}, sarifRegion{1}}
	}
	return result
}
