package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stdioServer is a program that speaks MCP over its standard streams, as badly as its first argument says. It writes a line into the file
// that the second one names, so that a test can tell that it was started, with which environment.
func stdioServer() {
	kind := os.Args[1]
	f, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, strings.Join(os.Environ(), " "))
	_ = f.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		result := stdioAnswer(kind, q.Method)
		switch {
		case kind == "dies":
			os.Exit(3)
		case result == "":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", q.ID)
		default:
			fmt.Print("a line for people\n" + `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n")
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, result)
		}
	}
	if kind == "stays" {
		select {} // until it is killed
	}
}

func stdioAnswer(kind, method string) string {
	tools := `{"tools":[{"name":"look","description":"Looks at things. The key is ` + os.Getenv("KEY") + `.\u001b[2J","inputSchema":{"type":"object"}}]}`
	switch {
	case method == "tools/list":
		return tools
	case kind == "modern" && method == "server/discover":
		return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`
	case kind != "modern" && method == "initialize":
		return `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`
	}
	return ""
}

// Whoever scans servers that are started is shown the command of each, credentials hidden, and asked; nothing but a clear yes starts one.
func TestStdioIsConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		keys, said string
		started    bool
		code       int
	}{
		"yes":          {"y\r", "standard streams, by a live handshake in 2025-06-18", true, 0},
		"no":           {"n\r", "files: not started", false, 1},
		"nothing":      {"\r", "files: not started", false, 1},
		"something":    {"yes!\r", "files: not started", false, 1},
		"end of input": {"\x04", "files: not started", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			trace, file := filepath.Join(dir, "trace"), filepath.Join(dir, "mcp.json")
			entry := map[string]any{"command": "mcp-stdio", "args": []string{"legacy", trace, "--token=argument-token", "\x1b[2J two words"}, "env": map[string]string{"KEY": "environment-key", "HIDE": "two words"}} // a value is no reason to hide an argument
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"files": entry}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			p := sit(t, t.TempDir(), "check", "--config", file, "--stdio")
			p.sees("Start files with your rights")
			p.sees("HIDE=*** KEY=*** mcp-stdio legacy ")
			p.sees(`--token=*** "<U+001B>[2J two words"`)
			p.sees("[y/N]")
			if _, err := os.Stat(trace); err == nil {
				t.Error("it was started before it was confirmed")
			}
			p.types(c.keys)
			p.sees(c.said)
			code := p.leaves()
			if _, err := os.Stat(trace); (err == nil) != c.started || code != c.code {
				t.Errorf("started: %v, exit code %d; want %v, %d; screen %q", err == nil, code, c.started, c.code, p.all)
			}
			for _, bad := range []string{"argument-token", "environment-key", "\x1b[2J"} {
				if strings.Contains(p.all, bad) {
					t.Errorf("the screen has %q: %q", bad, p.all)
				}
			}
		})
	}
}
