package llmtest

import (
	"embed"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"runpython/internal/llm"
)

//go:embed conversations
var conversations embed.FS

// Conversation returns a script of the folder conversations by its name, without ".txtar".
func Conversation(t testing.TB, name string) Script {
	t.Helper()
	data, err := conversations.ReadFile(path.Join("conversations", name+".txtar"))
	if err != nil {
		t.Fatalf("conversation: %v", err)
	}
	s, err := Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Names returns the names of all conversations.
func Names(t testing.TB) []string {
	t.Helper()
	entries, err := conversations.ReadDir("conversations")
	if err != nil {
		t.Fatalf("conversations: %v", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txtar"))
	}
	return names
}

// Parse reads a script from an archive. What it stands for is told before the first file; each file
// named "request" begins an exchange and has the fields of a Want, one a line:
//
//	protocol: openai      stream: true      messages: 3      tools: run_python, other
//	key: k                result: 42        has: a part      lacks: a part      body: a part
//
// The files behind it are the reply:
//
//	thinking, text, refusal         parts of the answer; the last line break does not count
//	call NAME ID                    the arguments of a tool call, as they are sent
//	error STATUS TYPE               an error in the form of the protocol, with its message
//	body STATUS CONTENT-TYPE        exactly this body
//	reply                           fields of a Reply, one a line: "stop: length", "cut: finish",
//	                                "usage: input 9 cached 4 output 5 thinking 2", "piece: 1", "quirk: nulls",
//	                                "fill: 5242880", "fill: endless", "hold: before", "hold: amid" (until
//	                                the client leaves), "header: Retry-After: 2"
//
// A file "server" before the first request with "no-null" sets NoNull.
func Parse(name string, data []byte) (Script, error) {
	s := Script{Name: name}
	for _, f := range txtar.Parse(data).Files {
		if err := s.add(strings.Fields(f.Name), strings.TrimSuffix(string(f.Data), "\n")); err != nil {
			return s, fmt.Errorf("conversation %s, exchange %d, file %q: %w", name, len(s.Exchanges), f.Name, err)
		}
	}
	if len(s.Exchanges) == 0 {
		return s, fmt.Errorf("conversation %s: no request", name)
	}
	return s, nil
}

func (s *Script) add(file []string, text string) error {
	switch {
	case len(file) == 1 && file[0] == "request":
		s.Exchanges = append(s.Exchanges, Exchange{})
		return fields(text, s.Exchanges[len(s.Exchanges)-1].Want.set)
	case len(file) == 1 && file[0] == "server" && text == "no-null":
		s.NoNull = true
		return nil
	case len(s.Exchanges) == 0:
		return fmt.Errorf("it stands before the first request")
	}
	return s.Exchanges[len(s.Exchanges)-1].Reply.add(file, text)
}

func (r *Reply) add(file []string, text string) error {
	if len(file) == 1 {
		parts := map[string]*string{"thinking": &r.Thinking, "text": &r.Text, "refusal": &r.Refusal}
		switch part := parts[file[0]]; {
		case part != nil:
			*part = text
			return nil
		case file[0] == "reply":
			return fields(text, r.set)
		}
	}
	if len(file) != 3 {
		return fmt.Errorf("no such file in a reply")
	}
	var err error
	switch file[0] {
	case "call":
		r.Calls = append(r.Calls, Call{Name: file[1], ID: file[2], Arguments: text})
	case "error":
		r.Status, err = strconv.Atoi(file[1])
		r.Type, r.Message = file[2], text
	case "body":
		r.Status, err = strconv.Atoi(file[1])
		r.ContentType, r.Message = file[2], text
	default:
		err = fmt.Errorf("no such file in a reply")
	}
	return err
}

// fields gives each "key: value" line to set.
func fields(text string, set func(key, value string) error) error {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return fmt.Errorf("line %q is not \"key: value\"", line)
		}
		if err := set(key, value); err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
	}
	return nil
}

func (w *Want) set(key, value string) (err error) {
	switch key {
	case "protocol":
		w.Protocol = Protocol(value)
		err = oneOf(w.Protocol, OpenAI, Anthropic)
	case "stream":
		w.Stream = new(bool)
		*w.Stream, err = strconv.ParseBool(value)
	case "messages":
		w.Messages, err = strconv.Atoi(value)
	case "tools":
		w.Tools = []string{}
		if value != "none" {
			w.Tools = strings.Split(value, ", ")
		}
	case "key":
		w.Key = value
	case "result":
		w.Result = value
	case "has":
		w.Has = append(w.Has, value)
	case "lacks":
		w.Lacks = append(w.Lacks, value)
	case "body":
		w.Body = append(w.Body, value)
	default:
		err = fmt.Errorf("a request has no such field")
	}
	return err
}

func (r *Reply) set(key, value string) (err error) {
	switch key {
	case "stop":
		r.Stop = llm.Stop(value)
		err = oneOf(r.Stop, llm.End, llm.Called, llm.Length, llm.Refused)
	case "cut":
		r.Cut = Cut(value)
		err = oneOf(r.Cut, CutConnection, CutFinish, CutBody, CutHeader)
	case "quirk":
		r.Quirks = append(r.Quirks, Quirk(value))
		err = oneOf(Quirk(value), Repeated, Nulls, Object, NoID, NoUsage, Comments, LateError, Garbage)
	case "piece":
		r.Piece, err = strconv.Atoi(value)
	case "fill":
		r.Fill = Endless
		if value != "endless" {
			r.Fill, err = strconv.ParseInt(value, 10, 64)
		}
	case "usage":
		return r.setUsage(strings.Fields(value))
	case "header":
		name, content, _ := strings.Cut(value, ": ")
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Add(name, content)
	case "hold":
		gates := map[string]**Gate{"before": &r.Before, "amid": &r.Amid}
		if gates[value] == nil {
			return fmt.Errorf("neither before nor amid")
		}
		*gates[value] = &Gate{reached: make(chan struct{})}
	default:
		err = fmt.Errorf("a reply has no such field")
	}
	return err
}

// oneOf checks that a value is one that there is.
func oneOf[T comparable](value T, values ...T) error {
	if slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("none of %v", values)
}

func (r *Reply) setUsage(words []string) error {
	if len(words)%2 != 0 {
		return fmt.Errorf("not pairs of a name and a number")
	}
	counts := map[string]*int{
		"input": &r.Usage.Input, "cached": &r.Usage.Cached, "output": &r.Usage.Output, "thinking": &r.Usage.Thinking,
	}
	for pair := range slices.Chunk(words, 2) {
		n, err := strconv.Atoi(pair[1])
		if err != nil || counts[pair[0]] == nil {
			return fmt.Errorf("no count: %q", pair)
		}
		*counts[pair[0]] = n
	}
	return nil
}
