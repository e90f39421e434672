package check

import (
	"time"

	"runpython/internal/check/dnssec"
	"runpython/internal/check/probe"
)

// SchemaVersion is that of the report's JSON form. Fields are only added within one number.
const SchemaVersion = 1

// Rubric is the version of the signals, their weights and the profiles.
const Rubric = "2026-12"

// A Status is what became of a signal.
type Status string

// The statuses of signals.
const (
	Pass          Status = "pass"
	Partial       Status = "partial"
	Fail          Status = "fail"
	Unverified    Status = "unverified"     // it takes more than one scan, or a judge that is no program
	NotApplicable Status = "not_applicable" // there is nothing that it could be about
	Error         Status = "error"          // it was not measured; the summary says why
)

// A Report is what a scan has found. Every text in it is harmless to show.
type Report struct {
	SchemaVersion int         `json:"schema_version"`
	Tool          Tool        `json:"tool"`
	Target        string      `json:"target"`
	Name          string      `json:"name,omitempty"` // of the server in a client's configuration
	StartedAt     time.Time   `json:"started_at"`
	Profile       Profile     `json:"profile"`
	Era           string      `json:"era"`                // legacy, modern, dual, unknown behind a token, or "" when no MCP is spoken
	Score         *int        `json:"score"`              // 0 to 100; nil when no MCP is spoken, or nothing was measured
	Possible      *int        `json:"score_possible_now"` // what it would be if everything that can be changed today were
	Coverage      Coverage    `json:"coverage"`
	Categories    []Category  `json:"categories"`
	Findings      []Finding   `json:"findings"`
	Diagnostics   Diagnostics `json:"diagnostics"`
	Changes       []Change    `json:"changes"` // between the observations of the past and this scan

	Baseline *BaselineReport `json:"baseline,omitempty"` // nil without one
}

// A Tool is the program that made a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Rubric  string `json:"rubric"`
}

// Coverage is how many signals were measured, of those that are about something.
type Coverage struct {
	Measured int `json:"measured"`
	Total    int `json:"total"`
}

// A Category is a group of signals. Its score is nil when none of them counts.
type Category struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Weight  float64  `json:"weight"` // in hundredths of the score
	Score   *int     `json:"score"`
	Signals []Signal `json:"signals"`
}

// A Signal is one thing that is judged.
type Signal struct {
	ID       string   `json:"id"`
	Status   Status   `json:"status"`
	Credit   float64  `json:"credit"` // 0 to 1
	Weight   float64  `json:"weight"` // within its category
	Scored   bool     `json:"scored"` // it counts in this profile
	Summary  string   `json:"summary"`
	Evidence []string `json:"evidence,omitempty"`
	Fix      string   `json:"fix,omitempty"`
	Refs     []string `json:"refs,omitempty"`
	OWASP    []string `json:"owasp,omitempty"` // of the MCP Top 10

	places []place
}

// Diagnostics are the facts behind the signals.
type Diagnostics struct {
	Addresses  []string         `json:"addresses"`
	TLS        *TLSDiagnostics  `json:"tls"`
	DNSSEC     *DNSSECDiagnosis `json:"dnssec"` // nil when it was not measured
	HTTP       HTTPDiagnostics  `json:"http"`
	Auth       AuthDiagnostics  `json:"auth"`
	Transports []TryDiagnostic  `json:"transports"`
	Server     ServerDiagnosis  `json:"server"`
	Tokens     TokenDiagnosis   `json:"tokens"`
	Tools      []ToolDiagnosis  `json:"tools"`
	Problems   []string         `json:"problems,omitempty"` // of definitions of tools
}

// TLSDiagnostics are of the handshake that the target prefers.
type TLSDiagnostics struct {
	Problem     string        `json:"problem,omitempty"`
	Version     string        `json:"version"`
	CipherSuite string        `json:"cipher_suite"`
	ALPN        string        `json:"alpn"`
	OldVersions bool          `json:"old_versions"`
	Chain       []Certificate `json:"chain"`
}

// A Certificate is one of the chain that was served.
type Certificate struct {
	Subject   string    `json:"subject"`
	Issuer    string    `json:"issuer"`
	Names     []string  `json:"names,omitempty"`
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	Key       string    `json:"key"`
	Signature string    `json:"signature"`
}

// A DNSSECDiagnosis is the walk from the root to the name.
type DNSSECDiagnosis struct {
	State  dnssec.State    `json:"state"`
	Reason string          `json:"reason"`
	AD     bool            `json:"ad"` // what the resolver says; it decides nothing
	Zones  []ZoneDiagnosis `json:"zones"`
}

// A ZoneDiagnosis is one step of it.
type ZoneDiagnosis struct {
	Name  string       `json:"name"`
	State dnssec.State `json:"state"`
	DS    []string     `json:"ds,omitempty"`
	Keys  []string     `json:"keys,omitempty"`
	Note  string       `json:"note,omitempty"`
}

// HTTPDiagnostics are of plain HTTP and of headers.
type HTTPDiagnostics struct {
	PlainListening bool              `json:"plain_listening"`
	PlainStatus    int               `json:"plain_status"`
	PlainLocation  string            `json:"plain_location,omitempty"`
	PlainProblem   string            `json:"plain_problem,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"` // of the endpoint's first answer, some of them
}

// AuthDiagnostics are what the target does without credentials, and its documents.
type AuthDiagnostics struct {
	Verdict    string               `json:"verdict"`
	Opened     bool                 `json:"opened"`
	Listed     int                  `json:"listed"`
	CallStatus int                  `json:"call_status"`
	CallDetail string               `json:"call_detail,omitempty"`
	Challenges []ChallengeDiagnosis `json:"challenges,omitempty"`
	Resource   *ResourceDiagnosis   `json:"resource,omitempty"`
	Issuers    []IssuerDiagnosis    `json:"issuers,omitempty"`
}

// A ChallengeDiagnosis is one of a WWW-Authenticate header.
type ChallengeDiagnosis struct {
	Scheme     string            `json:"scheme"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// A ResourceDiagnosis is of RFC 9728 metadata.
type ResourceDiagnosis struct {
	URL     string   `json:"url"`
	Problem string   `json:"problem,omitempty"`
	Issuers []string `json:"authorization_servers,omitempty"`
	Bearer  []string `json:"bearer_methods_supported,omitempty"` // ways to send a token
}

// An IssuerDiagnosis is of an authorization server.
type IssuerDiagnosis struct {
	Issuer       string `json:"issuer"`
	URL          string `json:"url"`
	Problem      string `json:"problem,omitempty"`
	Documents    bool   `json:"client_id_metadata_document_supported"`
	Registration bool   `json:"registration_endpoint"`
	NamesItself  bool   `json:"iss_parameter"`
}

// A TryDiagnostic is one handshake.
type TryDiagnostic struct {
	Revision string        `json:"revision"`
	Outcome  probe.Outcome `json:"outcome"`
	Offered  string        `json:"offered,omitempty"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail,omitempty"`
}

// A ServerDiagnosis is what the server says about itself, and what it lists.
type ServerDiagnosis struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Revision  string `json:"revision"` // by which the lists were read
	Events    bool   `json:"events"`
	Tools     int    `json:"tools"`
	Resources int    `json:"resources"`
	Prompts   int    `json:"prompts"`
}

// A TokenDiagnosis is what the definitions cost a model, in tokens of o200k.
type TokenDiagnosis struct {
	Total  int     `json:"total"`
	PerOne float64 `json:"per_item"`
}

// A ToolDiagnosis is one tool.
type ToolDiagnosis struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description"`
	Tokens      int                  `json:"tokens"`
	ReadOnly    *bool                `json:"read_only"`
	Destructive *bool                `json:"destructive"`
	Examples    float64              `json:"examples"` // credit for them
	Parameters  []ParameterDiagnosis `json:"parameters"`
}

// A ParameterDiagnosis is one parameter of a tool.
type ParameterDiagnosis struct {
	Path        string `json:"path"`
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
}
