// Package about is what the program tells of itself before anybody connects to it:
// its names and its version, the server.json of the MCP registry, the experimental
// server card (SEP-2127) and llms.txt.
//
// All of them are made from the constants and the one text here. server.json and
// llms.txt are committed in the root of the source tree, where registries and
// readers look for them; a test holds them equal to what is made, and valid by the
// published schemas, and its flag -update writes them.
//
// # Trust
//
// What is here is public and the same for everybody. Nothing of a request is
// repeated in an answer.
//
// # Failure
//
// There is none but a programmer's: a document that cannot be made is a panic while
// the program starts.
package about

import (
	"bytes"
	_ "embed" // llms.txt.tmpl
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

const (
	// Name is the program's, which MCP calls the name of the implementation.
	Name = "runpython"
	// Title is shown to people.
	Title = "Run Python"
	// Version is that of this source tree. A release is tagged with it.
	Version = "0.1.0"
	// Description says what the server does, in at most 100 characters.
	Description = "Runs Python in a sandbox; variables and files stay, pictures and files come back."

	// RegistryName has the form that registries want, a namespace and a name. The
	// namespace must be the publisher's own: who publishes a server changes it.
	RegistryName = "runpython/runpython"
)

// ProtocolVersions returns the revisions of MCP that are served, newest first.
func ProtocolVersions() []string {
	return []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}
}

const (
	registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	cardSchema     = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// A server is what server.json and the card have in common. Neither has a
// repository: the project names none.
type server struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Remotes     []remote `json:"remotes,omitempty"`
}

type remote struct {
	Type             string           `json:"type"`
	URL              string           `json:"url"`
	Variables        map[string]input `json:"variables,omitempty"`
	ProtocolVersions []string         `json:"supportedProtocolVersions,omitempty"`
}

type input struct {
	Description string `json:"description"`
	Required    bool   `json:"isRequired"`
	Placeholder string `json:"placeholder"`
}

func newServer(schema string, remotes ...remote) server {
	return server{
		Schema: schema, Name: RegistryName, Title: Title, Description: Description, Version: Version, Remotes: remotes,
	}
}

// streamable is the transport's name.
const streamable = "streamable-http"

// ServerJSON returns the entry of the MCP registry. The server is hosted by whoever
// uses it, so the host in its URL is a variable. It is in no package registry.
func ServerJSON() []byte {
	return encode(newServer(registrySchema, remote{
		Type: streamable, URL: "https://{host}/mcp",
		Variables: map[string]input{"host": {
			Description: "The host on which you or your team run the server, with its port if that is not 443",
			Required:    true, Placeholder: "python.example.org",
		}},
	}))
}

// Card returns the server card. url is that of the MCP endpoint, "" when it is not
// known under which the server is reached: the card is found beside it then.
func Card(url string) []byte {
	if url == "" {
		return encode(newServer(cardSchema))
	}
	return encode(newServer(cardSchema, remote{Type: streamable, URL: url, ProtocolVersions: ProtocolVersions()}))
}

func encode(s server) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("about: encode %s: %v", s.Schema, err))
	}
	return b.Bytes()
}

//go:embed llms.txt.tmpl
var llmsTemplate string

// LLMs returns llms.txt, which tells language models what this is and how to use it
// (llmstxt.org).
func LLMs() []byte {
	var b bytes.Buffer
	err := template.Must(template.New("llms.txt").Parse(llmsTemplate)).Execute(&b, map[string]any{
		"Title": Title, "Description": Description, "Version": Version, "Revisions": strings.Join(ProtocolVersions(), ", "),
	})
	if err != nil {
		panic(fmt.Sprintf("about: make llms.txt: %v", err))
	}
	return b.Bytes()
}
