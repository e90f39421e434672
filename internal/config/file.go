package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxFileBytes bounds the file of settings.
const maxFileBytes = 64 << 10

// applyFile sets what the YAML file at path says. The keys are those of all
// commands, since one file serves them all.
func applyFile(c *Config, path string) error {
	text, err := readBounded(path)
	if err != nil {
		return &Error{Where: "--config", Value: path, Reason: err.Error()}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // nothing but comments
	} else if err != nil {
		return &Error{Where: path, Reason: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return &Error{Where: path, Reason: "must be one YAML document"}
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		return at(path, top, "", "", "must be a list of \"name: value\" lines, one per setting")
	}
	return applyKeys(c, path, top.Content)
}

// readBounded reads a regular file of at most maxFileBytes. Its error is for
// the person who named the file.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refusal("no such file")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, refusal("must be a regular file")
	case info.Size() > maxFileBytes:
		return nil, refusal("must be at most %s", FormatSize(maxFileBytes))
	}
	return os.ReadFile(path)
}

// applyKeys sets the keys and values of a mapping, which alternate in nodes.
func applyKeys(c *Config, path string, nodes []*yaml.Node) error {
	var errs []error
	seen := make(map[string]int) // line of each key
	table := settings()
	for i := 0; i+1 < len(nodes); i += 2 {
		key, value := nodes[i], nodes[i+1]
		n := slices.IndexFunc(table, func(s setting) bool { return s.name == key.Value })
		if n < 0 || key.Kind != yaml.ScalarNode {
			errs = append(errs, at(path, key, key.Value, "", "unknown setting"+Suggest(key.Value, names(table))))
			continue
		}
		if line, twice := seen[key.Value]; twice {
			errs = append(errs, at(path, key, key.Value, "", fmt.Sprintf("already set in line %d", line)))
			continue
		}
		seen[key.Value] = key.Line
		errs = append(errs, applyNode(c, path, table[n], value))
	}
	return errors.Join(errs...)
}

// applyNode sets one setting from the value of its key.
func applyNode(c *Config, path string, s setting, node *yaml.Node) error {
	scalars := []*yaml.Node{node}
	if s.reset != nil && node.Kind == yaml.SequenceNode {
		scalars = node.Content
	}
	values := make([]string, len(scalars))
	for i, n := range scalars {
		if n.Kind != yaml.ScalarNode || !slices.Contains(s.yaml, n.ShortTag()) {
			return at(path, n, s.name, "", "must be "+wanted(s)+", not "+found(n))
		}
		values[i] = n.Value
	}
	if value, err := s.apply(c, values...); err != nil {
		return at(path, node, s.name, value, err.Error())
	}
	return nil
}

// at returns an Error for a place in a file.
func at(path string, n *yaml.Node, key, value, reason string) error {
	where := fmt.Sprintf("%s:%d", path, n.Line)
	if key != "" {
		where += ": " + key
	}
	return &Error{Where: where, Value: value, Reason: reason}
}

// wanted names the YAML types that a setting takes.
func wanted(s setting) string {
	var words []string
	for _, tag := range s.yaml {
		words = append(words, typeName(tag))
	}
	text := strings.Join(words, " or ")
	if s.reset != nil {
		text += " or a list of them"
	}
	if s.limits != "" {
		text += " (" + s.limits + ")"
	}
	return text
}

// found names what stands in the file.
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	case yaml.ScalarNode, yaml.DocumentNode:
	}
	return typeName(n.ShortTag())
}

func typeName(tag string) string {
	switch tag {
	case tagString:
		return "text"
	case tagInt:
		return "a whole number"
	case tagFloat:
		return "a number"
	case tagBool:
		return "true or false"
	case "!!null":
		return "nothing"
	}
	return "a value of type " + tag
}

func names(table []setting) []string {
	all := make([]string, len(table))
	for i, s := range table {
		all[i] = s.name
	}
	return all
}
