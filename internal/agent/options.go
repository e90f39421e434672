package agent

import (
	"log/slog"
	"time"

	"runpython/internal/llm"
)

// A Protocol is how a model hands over code and learns what came of it.
type Protocol string

// The protocols. The empty one is Auto.
const (
	// Auto begins with Tools for models that are good at them, with Fenced for others, and changes over to
	// Fenced when tool calls do not come to anything: for the task, or for all later ones if none ever did.
	Auto Protocol = "auto"
	// Tools is a tool that the model calls with code.
	Tools Protocol = "tools"
	// Fenced is a block of Python in the text of the model.
	Fenced Protocol = "fenced"
)

// What Options are without a number.
const (
	defaultRuns    = 8
	defaultTimeout = 5 * time.Minute
	// defaultWindow is the window of a model whose own is not told, in tokens; smaller than that of any model which
	// is served by a vendor today.
	defaultWindow = 32_768
	// defaultLocalWindow is that of a model on a local server: some servers drop the beginning of a longer
	// conversation without a word.
	defaultLocalWindow = 4_096
)

// Bounds of what a model may ask for and of what it is shown.
const (
	// MaxCodeBytes is the longest code that is run.
	MaxCodeBytes = 64 << 10
	// MaxPackages is how many packages a model may ask for with one run.
	MaxPackages = 16
	// MaxCallsAtOnce is how many calls of one reply are carried out.
	MaxCallsAtOnce = 4
	// maxResultBytes is what a model is shown of one run.
	maxResultBytes = 16_000
	// MaxImages and MaxImageBytes bound the pictures that a model is shown, those of the last run.
	MaxImages     = 4
	MaxImageBytes = 4 << 20
)

// Options are what an Agent needs. Numbers that are zero are the defaults, where there are any.
type Options struct {
	Model    llm.Model
	Protocol Protocol
	// GoodAtTools lets Auto begin with Tools.
	GoodAtTools bool
	// Local means that the model is served by a server of the operator.
	Local bool
	// Extra is merged into each request. What forces the form of the reply, such as a grammar, is set to
	// nil in requests whose reply may be an answer in words; see constraints.
	Extra map[string]any
	// Images lets the model see the pictures that code shows.
	Images bool
	// Facts are what the model is told about where its code runs.
	Facts Facts

	MaxRuns   int           // of a task, those that are repeated after an install included
	MaxTokens int           // of a task, in all requests, read and written; 0 for no limit
	MaxCost   float64       // of a task, in the currency of Prices; 0 for no limit
	Prices    Prices        // of the model
	Timeout   time.Duration // of a task
	Window    int           // tokens that a conversation may have, the reply included

	Log *slog.Logger
}

// Prices are those of a million tokens, in any one currency.
type Prices struct {
	Input, Cached, Output float64
}

// of returns what a usage costs.
func (p Prices) of(u llm.Usage) float64 {
	return (p.Input*float64(u.Input-u.Cached) + p.Cached*float64(u.Cached) + p.Output*float64(u.Output)) / 1e6
}

// Facts tell a model about the sandbox of a chat.
type Facts struct {
	RunTimeout  time.Duration
	MemoryBytes int64
	WorkBytes   int64
	// Egress is where code may connect, in the words of --egress; "" or "none" for nowhere.
	Egress string
	// Packages says which packages are installed: "auto", "listed" or "off".
	Packages string
	// Listed are the names that "listed" allows.
	Listed []string
}

// withDefaults returns o with what it leaves open.
func (o Options) withDefaults() Options {
	if o.Protocol == "" {
		o.Protocol = Auto
	}
	if o.MaxRuns <= 0 {
		o.MaxRuns = defaultRuns
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Window <= 0 && o.Local {
		o.Window = defaultLocalWindow
	}
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	return o
}
