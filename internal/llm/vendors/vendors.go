// Package vendors knows who serves models: where, with which key, in which dialect; and makes an llm.Model
// of what the operator has chosen.
//
// # Trust
//
// Settings and variables are the operator's. A key goes to the server that it is for and nowhere else: not
// into descriptions, errors or the log, and never to another address than that of its vendor, unless a variable
// of the vendor names that.
//
// # Failure
//
// A choice that cannot be used is one sentence for the operator, without a call: which vendors there are,
// which variable the key belongs into. What goes wrong later is an [llm.Error].
package vendors

import (
	"runpython/internal/llm/openai"
)

// A vendor is one row of the table.
type vendor struct {
	name      string
	url       string   // that requests are put behind
	elsewhere string   // the vendor's own variable for another address, "" for none
	keys      []string // variables, the first one that is set counts
	anthropic bool     // speaks messages, not chat completions
	dialect   openai.Dialect
	tools     bool // its models are good at calling tools, as a rule
	window    int  // tokens that all of its usual models take at least
}

// Windows of models, in tokens, where the operator says nothing. Those of local servers are what they are
// started with unless told otherwise.
const (
	ollamaWindow = 4096
	serverWindow = 8192
)

// ollama is the vendor whose server is looked for when nothing is chosen.
const ollama = "ollama"

// table lists the vendors, in the order of the documentation.
var table = []vendor{
	{
		name: "openai", url: "https://api.openai.com/v1", elsewhere: "OPENAI_BASE_URL", keys: []string{"OPENAI_API_KEY"},
		dialect: openai.Dialect{CompletionTokens: true, AskUsage: true}, tools: true, window: 128_000,
	},
	{
		name: "anthropic", url: "https://api.anthropic.com", elsewhere: "ANTHROPIC_BASE_URL", keys: []string{"ANTHROPIC_API_KEY"},
		anthropic: true, tools: true, window: 200_000,
	},
	{
		name: "groq", url: "https://api.groq.com/openai/v1", keys: []string{"GROQ_API_KEY"},
		dialect: openai.Dialect{CompletionTokens: true, AskUsage: true}, tools: true, window: 128_000,
	},
	{
		name: "openrouter", url: "https://openrouter.ai/api/v1", keys: []string{"OPENROUTER_API_KEY"},
		dialect: openai.Dialect{AskUsage: true, Echo: openai.ReasoningDetails}, tools: true, window: 64_000,
	},
	{
		// Usage comes in the last chunk anyway.
		name: "mistral", url: "https://api.mistral.ai/v1", keys: []string{"MISTRAL_API_KEY"},
		dialect: openai.Dialect{ShortIDs: true}, tools: true, window: 128_000,
	},
	{
		name: "deepseek", url: "https://api.deepseek.com", keys: []string{"DEEPSEEK_API_KEY"},
		dialect: openai.Dialect{AskUsage: true, Echo: openai.ReasoningContent}, tools: true, window: 128_000,
	},
	{
		name: "gemini", url: "https://generativelanguage.googleapis.com/v1beta/openai", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		dialect: openai.Dialect{AskUsage: true, Echo: openai.ThoughtSignatures}, tools: true, window: 1_000_000,
	},
	{
		name: ollama, url: "http://127.0.0.1:11434/v1", elsewhere: "OLLAMA_HOST", keys: []string{"OLLAMA_API_KEY"},
		dialect: openai.Dialect{AskUsage: true}, window: ollamaWindow,
	},
}

// names returns the names of the vendors.
func names() []string {
	all := make([]string, len(table))
	for i, v := range table {
		all[i] = v.name
	}
	return all
}
