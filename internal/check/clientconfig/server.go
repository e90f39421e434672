package clientconfig

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// An entry is what a configuration says of one server, by names in lower case.
type entry struct {
	members map[string]any
	server  *Server
	env     func(string) (string, bool)
}

// read reads the entry of one server. It is false for one that is turned off, or built into its client.
func read(name string, members map[string]any, env func(string) (string, bool)) (Server, bool) {
	s := Server{Name: showable(name), Headers: map[string]string{}, Env: map[string]string{}}
	e := &entry{members: map[string]any{}, server: &s, env: env}
	for k, v := range members {
		e.members[strings.ToLower(k)] = v
	}
	kind := strings.ToLower(e.text("type", "transport"))
	if e.members["disabled"] == true || e.members["enabled"] == false || kind == "builtin" || kind == "platform" || kind == "frontend" {
		return s, false
	}
	s.URL = e.text("url", "serverurl", "httpurl", "uri")
	if s.URL != "" {
		s.URL = e.expand(s.URL, "its URL")
		e.queries()
		e.headers()
		return s, true
	}
	e.command()
	if s.Command == "" && s.Problem == "" {
		s.Problem = "it has neither a URL nor a command"
	}
	return s, true
}

// text returns the first of some members that is a text.
func (e *entry) text(names ...string) string {
	for _, n := range names {
		if s, ok := e.members[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// object returns the first of some members that is an object.
func (e *entry) object(names ...string) map[string]any {
	for _, n := range names {
		if m, ok := e.members[n].(map[string]any); ok {
			return m
		}
	}
	return nil
}

// queries keeps the values of the URL's query from being shown.
func (e *entry) queries() {
	u, err := url.Parse(e.server.URL)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		e.server.Secrets = append(e.server.Secrets, password)
	}
	for _, values := range u.Query() {
		e.server.Secrets = append(e.server.Secrets, values...)
	}
}

// headers reads those that the client sends.
func (e *entry) headers() {
	s := e.server
	given := e.object("headers", "http_headers", "httpheaders")
	for _, name := range first(given) {
		if text, ok := given[name].(string); ok {
			e.header(name, text)
		}
	}
	variables := e.object("env_http_headers")
	for _, name := range first(variables) {
		if variable, ok := variables[name].(string); ok {
			e.header(name, "${"+variable+"}")
		}
	}
	if variable := e.text("bearer_token_env_var"); variable != "" {
		e.header("Authorization", "Bearer ${"+variable+"}")
	}
	if len(given) > maxValues || len(variables) > maxValues {
		s.Notes = append(s.Notes, fmt.Sprintf("it has more than %d headers; the others are left out", maxValues))
	}
}

// header adds one, unless what it refers to is not known.
func (e *entry) header(name, text string) {
	before := len(e.server.Notes)
	value := e.expand(text, "its header "+showable(name))
	if len(e.server.Notes) > before {
		return // a part of a credential is none
	}
	e.server.Secrets = append(e.server.Secrets, value)
	e.server.Headers[name] = value
}

// first returns the names of the first values of an object.
func first(m map[string]any) []string {
	names := slices.Sorted(maps.Keys(m))
	return names[:min(len(names), maxValues)]
}

// command reads how the server is started.
func (e *entry) command() {
	s := e.server
	words := texts(e.members["command"])
	if object := e.object("command"); object != nil { // as Zed writes it
		words = append(texts(object["path"]), texts(object["args"])...)
		e.variables(object["env"])
	}
	if len(words) == 0 {
		words = texts(e.members["cmd"])
	}
	words = append(words, texts(e.members["args"])...)
	e.variables(e.members["env"])
	e.variables(e.members["envs"])
	e.variables(e.members["environment"])
	if len(words) == 0 {
		return
	}
	if len(words) > maxValues {
		s.Problem = fmt.Sprintf("its command has more than %d words", maxValues)
		return
	}
	shown := slices.Clone(words)
	for i, w := range words {
		words[i] = e.expand(w, "its command")
	}
	if len(s.Notes) > 0 {
		s.Problem = s.Notes[0]
		return
	}
	s.Command, s.Args, s.Shown = words[0], words[1:], shown
	secret := false
	for i, a := range s.Args {
		name, value, joined := strings.Cut(a, "=")
		switch {
		case secret:
			s.Secrets = append(s.Secrets, a)
			shown[1+i] = "***"
		case joined && secretive(name):
			s.Secrets = append(s.Secrets, value)
			if begin, _, ok := strings.Cut(shown[1+i], "="); ok {
				shown[1+i] = begin + "=***"
			}
		}
		secret = !secret && !joined && strings.HasPrefix(a, "-") && secretive(a)
	}
}

// secretive reports whether a name of an option is one of what is secret.
func secretive(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "secret", "password", "passwd", "auth", "credential", "header"}, func(word string) bool { return strings.Contains(name, word) })
}

// variables reads those that a started server gets.
func (e *entry) variables(v any) {
	m, _ := v.(map[string]any)
	for _, name := range first(m) {
		text, ok := m[name].(string)
		if !ok {
			text = fmt.Sprint(m[name])
		}
		value := e.expand(text, "its variable "+showable(name))
		e.server.Secrets = append(e.server.Secrets, value)
		e.server.Env[name] = value
	}
}

// texts returns a text, or a list of them, as a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var all []string
		for _, w := range v {
			if s, ok := w.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// expand replaces what clients put values of variables in place of: ${NAME}, ${NAME:-default}, ${env:NAME}, {env:NAME}. What
// cannot be known here, as what a client asks its user for, is left as it is and noted.
func (e *entry) expand(text, where string) string {
	var b strings.Builder
	for {
		begin := strings.Index(text, "${")
		open := len("${")
		if i := strings.Index(text, "{env:"); i >= 0 && (begin < 0 || i < begin) {
			begin, open = i, len("{")
		}
		if begin < 0 {
			break
		}
		end := strings.IndexByte(text[begin:], '}')
		if end < 0 {
			break
		}
		reference := text[begin+open : begin+end]
		b.WriteString(text[:begin])
		if value, ok := e.lookup(reference); ok {
			b.WriteString(value)
			e.server.Secrets = append(e.server.Secrets, value)
		} else {
			b.WriteString(text[begin : begin+end+1])
			e.server.Notes = append(e.server.Notes, fmt.Sprintf("%s needs %s, which is not set here", where, showable(reference)))
		}
		text = text[begin+end+1:]
	}
	b.WriteString(text)
	return b.String()
}

func (e *entry) lookup(reference string) (string, bool) {
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(reference, "env:"), ":-")
	if strings.Contains(name, ":") {
		return "", false // as in input:token, for which a client asks
	}
	if value, ok := e.env(name); ok && value != "" {
		return value, true
	}
	return fallback, hasFallback
}
