// Package clientconfig reads which MCP servers the configuration of a client names: Claude Code and Desktop, Cursor, VS Code, Codex,
// Gemini CLI, Windsurf, Zed, opencode, Goose, Cline and those that write the same forms. It only reads; nothing is started or asked.
//
// # Trust
//
// The file is the operator's, but others may have sent it, as one of a repository: sizes and numbers are bounded, names are
// harmless to show, and nothing of it is run. Values of headers, variables and queries are credentials: they are in [Server] for who
// connects, with a list of what must be shown nowhere, and never in an error.
//
// # Failure
//
// A file that is none of these forms is an error that says which members were looked for. A server that cannot be used has a Problem.
package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"gopkg.in/yaml.v3"

	"runpython/internal/check/files"
	"runpython/internal/check/lint"
	"runpython/internal/excerpt"
)

// What is read of a file at most.
const (
	maxFileBytes = 4 << 20
	maxServers   = 100
	maxName      = 100 // bytes
	maxValues    = 100 // headers, variables or arguments of one server
)

// A Server is one of a configuration.
type Server struct {
	Name    string // harmless to show
	URL     string // "" of one that is started
	Headers map[string]string
	Command string // "" of one that is asked over HTTP
	Args    []string
	Env     map[string]string
	// Shown are the words of the command as its starter may read them: variables by their names, credentials as ***. Nothing but what
	// stands after the name of a credential is hidden, since a file could hide with more what it has started.
	Shown   []string
	Secrets []string // what no report and no message may have
	Notes   []string // what of the configuration could not be used
	Problem string   // why it cannot be scanned, else ""
}

// Read reads the configuration of a client, by the ending of its name as TOML, YAML or JSON, the last with comments and commas
// that strict JSON does not have. Servers that are turned off are left out. env looks up variables that the file refers to.
func Read(name string, env func(string) (string, bool)) ([]Server, error) {
	text, err := files.Read(name, maxFileBytes)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	root, err := parse(filepath.Ext(name), text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	servers, err := servers(root, env)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return servers, nil
}

// parse returns the content of a file. Its errors have nothing of the content, which may be secret.
func parse(ending string, text []byte) (map[string]any, error) {
	var root map[string]any
	var err error
	switch strings.ToLower(ending) {
	case ".toml":
		err = toml.Unmarshal(text, &root)
		if broken, ok := errors.AsType[toml.ParseError](err); ok {
			err = fmt.Errorf("it is no TOML (line %d)", broken.Position.Line)
		}
	case ".yaml", ".yml":
		if yaml.Unmarshal(text, &root) != nil {
			err = errors.New("it is no YAML of members and values")
		}
	default:
		err = json.Unmarshal(strict(bytes.TrimPrefix(text, []byte("\ufeff"))), &root)
		if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("it is no JSON (line %d)", 1+bytes.Count(text[:min(len(text), int(broken.Offset))], []byte("\n")))
		} else if err != nil {
			err = errors.New("it is no JSON object")
		}
	}
	return root, err
}

// places are where clients keep their servers, as paths of members.
func places() [][]string {
	return [][]string{
		{"mcpServers"},                  // Claude, Cursor, Windsurf, Gemini CLI, Cline, LM Studio and others
		{"servers"},                     // VS Code, mcp.json
		{"mcp", "servers"},              // VS Code's settings, opencode from its second version on, OpenClaw
		{"mcp"},                         // opencode's first version
		{"context_servers"},             // Zed
		{"mcp_servers"},                 // Codex, Hermes
		{"extensions"},                  // Goose
		{"McpServers"},                  // Netclaw
		{"projects", "*", "mcpServers"}, // Claude Code's own file
	}
}

// servers finds those of a configuration, in the order of their names.
func servers(root map[string]any, env func(string) (string, bool)) ([]Server, error) {
	var all []Server
	found := false
	for _, path := range places() {
		for _, group := range at(root, path) {
			if path[0] == "mcp" && len(path) == 1 && group["servers"] != nil {
				continue // of the form with one more level
			}
			found = true
			for _, name := range slices.Sorted(maps.Keys(group)) {
				entry, ok := group[name].(map[string]any)
				if !ok {
					continue // a setting beside the servers
				}
				if s, ok := read(name, entry, env); ok {
					all = append(all, s)
				}
				if len(all) > maxServers {
					return nil, fmt.Errorf("names more than %d servers", maxServers)
				}
			}
		}
	}
	if !found {
		return nil, errors.New("names no MCP servers: it has none of mcpServers, servers, mcp, context_servers, mcp_servers, extensions")
	}
	return all, nil
}

// at returns the objects at a path, in which * is any member.
func at(root map[string]any, path []string) []map[string]any {
	if len(path) == 0 {
		return []map[string]any{root}
	}
	if path[0] != "*" {
		next, ok := root[path[0]].(map[string]any)
		if !ok {
			return nil
		}
		return at(next, path[1:])
	}
	var all []map[string]any
	for _, name := range slices.Sorted(maps.Keys(root)) {
		if next, ok := root[name].(map[string]any); ok {
			all = append(all, at(next, path[1:])...)
		}
	}
	return all
}

// showable returns a name as any place may show it.
func showable(name string) string { return excerpt.Begin(lint.Plain(name), maxName) }
