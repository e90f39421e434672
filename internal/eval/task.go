package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"runpython/internal/pattern"
)

// A Task is something that is asked of the program, and how to tell whether it was done.
type Task struct {
	Name  string
	Turns []Turn // at least one
	Files []File // in /work before the first turn
	Setup string // Python that makes more files, in a guest of its own, before the first turn; may be ""
	Check string // Python that asserts
}

// A Turn is one message, and solutions by which the check is proved.
type Turn struct {
	Prompt string
	Right  string // Python that does what is asked; may be ""
	Wrong  string // Python that does something else; may be ""
}

// A File is a file of text.
type File struct {
	Path string // relative to /work
	Text string
}

// Bounds of a set of tasks.
const (
	MaxSetBytes = 4 << 20
	MaxTurns    = 20
	maxTasks    = 1000
	maxFiles    = 100 // of a task
)

// taskName is what tasks may be called: short enough for a table, fit for a pattern.
var taskName = pattern.New(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Read reads a set of tasks: a YAML list, described in docs/eval.md. Errors name the line.
func Read(text []byte) ([]Task, error) {
	if len(text) > MaxSetBytes {
		return nil, fmt.Errorf("the set has %d bytes; the most is %d", len(text), MaxSetBytes)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, errors.New("there are no tasks in it")
	} else if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it must be one YAML document")
	}
	list := doc.Content[0]
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 || len(list.Content) > maxTasks {
		return nil, fmt.Errorf("line %d: it must be a list of 1 to %d tasks, each beginning with \"- name: \"", list.Line, maxTasks)
	}
	tasks := make([]Task, 0, len(list.Content))
	for _, node := range list.Content {
		t, err := readTask(node)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(tasks, func(other Task) bool { return other.Name == t.Name }) {
			return nil, fmt.Errorf("line %d: there is a task %q before", node.Line, t.Name)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// A key is one of those that a task may have.
type key struct {
	name string
	read func(*yaml.Node) error
}

// readTask reads one task.
func readTask(node *yaml.Node) (t Task, err error) {
	if node.Kind != yaml.MappingNode {
		return t, fmt.Errorf("line %d: a task must be a list of \"key: value\" lines", node.Line)
	}
	var prompts, rights, wrongs []string
	keys := []key{
		{"name", textAt(&t.Name)},
		{"prompt", textsAt(&prompts)},
		{"files", t.readFiles},
		{"setup", textAt(&t.Setup)},
		{"check", textAt(&t.Check)},
		{"right", textsAt(&rights)},
		{"wrong", textsAt(&wrongs)},
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(node.Content); i += 2 {
		word, value := node.Content[i], node.Content[i+1]
		n := slices.IndexFunc(keys, func(k key) bool { return k.name == word.Value })
		switch {
		case n < 0:
			return t, fmt.Errorf("line %d: unknown key %.40q; a task has name, prompt, files, setup, check, right and wrong", word.Line, word.Value)
		case seen[word.Value]:
			return t, fmt.Errorf("line %d: the key %s is there twice", word.Line, word.Value)
		}
		seen[word.Value] = true
		if err := keys[n].read(value); err != nil {
			return t, fmt.Errorf("line %d: %s: %w", value.Line, word.Value, err)
		}
	}
	if err := t.complete(prompts, rights, wrongs); err != nil {
		return t, fmt.Errorf("line %d: task %.40q: %w", node.Line, t.Name, err)
	}
	return t, nil
}

// complete joins the turns and looks whether anything is missing.
func (t *Task) complete(prompts, rights, wrongs []string) error {
	switch {
	case !taskName().MatchString(t.Name):
		return errors.New("its name must be 1 to 40 lower-case letters, digits and dashes")
	case len(prompts) == 0 || len(prompts) > MaxTurns:
		return fmt.Errorf("it must have a prompt, or a list of at most %d, one for each turn", MaxTurns)
	case slices.ContainsFunc(prompts, func(p string) bool { return strings.TrimSpace(p) == "" }):
		return errors.New("a prompt is empty")
	case strings.TrimSpace(t.Check) == "":
		return errors.New("it must have a check")
	case len(rights) != 0 && len(rights) != len(prompts), len(wrongs) != 0 && len(wrongs) != len(prompts):
		return fmt.Errorf("right and wrong must have one entry for each of its %d turns", len(prompts))
	}
	t.Turns = make([]Turn, len(prompts))
	for i, p := range prompts {
		t.Turns[i].Prompt = p
		if len(rights) > 0 {
			t.Turns[i].Right = rights[i]
		}
		if len(wrongs) > 0 {
			t.Turns[i].Wrong = wrongs[i]
		}
	}
	return nil
}

// readFiles reads a mapping of paths to texts.
func (t *Task) readFiles(node *yaml.Node) error {
	if node = aliased(node); node.Kind != yaml.MappingNode || len(node.Content) > 2*maxFiles {
		return fmt.Errorf("must be at most %d lines \"path: text\"", maxFiles)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		f := File{Path: node.Content[i].Value}
		if f.Path == "" || f.Path != path.Clean(f.Path) || path.IsAbs(f.Path) || strings.HasPrefix(f.Path, "..") || strings.HasPrefix(f.Path, recordFolder) {
			return fmt.Errorf("the path %.80q must be relative to /work", f.Path)
		}
		if err := textAt(&f.Text)(node.Content[i+1]); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		t.Files = append(t.Files, f)
	}
	return nil
}

// aliased returns the node that an alias stands for, and any other node as it is.
func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// textAt reads a scalar as text.
func textAt(to *string) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		if node = aliased(node); node.Kind != yaml.ScalarNode {
			return errors.New("must be text")
		}
		*to = node.Value
		return nil
	}
}

// textsAt reads a scalar, or a list of scalars, as texts.
func textsAt(to *[]string) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		nodes := []*yaml.Node{node}
		if node = aliased(node); node.Kind == yaml.SequenceNode {
			nodes = node.Content
		}
		for _, n := range nodes {
			var text string
			if err := textAt(&text)(n); err != nil {
				return errors.New("must be text, or a list of texts, one for each turn")
			}
			*to = append(*to, text)
		}
		return nil
	}
}

// Select returns the tasks whose names match a pattern of path.Match, all for "".
func Select(tasks []Task, pattern string) ([]Task, error) {
	if pattern == "" {
		return tasks, nil
	}
	var some []Task
	for _, t := range tasks {
		ok, err := path.Match(pattern, t.Name)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if ok {
			some = append(some, t)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("no task matches %q", pattern)
	}
	return some, nil
}
