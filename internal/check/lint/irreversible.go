package lint

import (
	"fmt"
	"slices"
	"strings"

	"runpython/internal/pattern"
)

// irreversible are verbs of what cannot be taken back.
var irreversible = []string{
	"delete", "remove", "drop", "destroy", "purge", "wipe", "erase", "truncate", "reset", "revoke", "terminate", "kill", "shutdown", "cancel",
	"overwrite", "transfer", "pay", "charge", "purchase", "refund", "send", "publish", "deploy", "ban",
}

// destructive are those that mean it also in prose, where "remove" may be of spaces and "send" of a reply.
var destructive = []string{"delete", "destroy", "purge", "wipe", "erase", "truncate", "revoke", "terminate", "overwrite"}

// reading are verbs that make of the word after them what is only looked at.
var reading = []string{"list", "get", "read", "search", "find", "show", "describe", "check", "count", "is", "can", "validate", "preview", "estimate", "view", "fetch", "query"}

// disks are what is formatted beyond repair, unlike text and code.
var disks = []string{"disk", "drive", "volume", "partition", "filesystem", "card"}

// sentence finds the first word of each sentence, or the one after how it is done.
var sentence = pattern.New(`(?:^|[.!?]\s+|\n\s*(?:[-*]\s+)?)(?:[A-Za-z]+ly\s+)?([A-Za-z]+)`)

// runs are words of tools that run code.
var runs = []string{"run", "exec", "execute", "eval", "shell", "bash"}

// An Irreversible is a tool that does what cannot be taken back.
type Irreversible struct {
	Tool  string
	Word  string // the verb
	Where string // name, title or description
	// Denied: its annotations say the opposite. Unsaid: they say nothing.
	Denied, Unsaid bool
}

// FindIrreversible looks at names, titles and descriptions for verbs of what cannot be taken back, and whether the
// tool's annotations say so too.
func FindIrreversible(tools []Tool) []Irreversible {
	var all []Irreversible
	for i := range tools {
		t := &tools[i]
		word, where := irreversibleWord(t)
		if word == "" {
			continue
		}
		readOnly := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
		spared := t.Annotations.Destructive != nil && !*t.Annotations.Destructive
		all = append(all, Irreversible{
			Tool: t.Name, Word: word, Where: where,
			Denied: readOnly || spared,
			Unsaid: !readOnly && t.Annotations.Destructive == nil,
		})
	}
	return all
}

func irreversibleWord(t *Tool) (word, where string) {
	if w := verbOf(t.Name); w != "" {
		return w, "name"
	}
	if w := verbOf(t.Title); w != "" {
		return w, "title"
	}
	for _, m := range sentence().FindAllStringSubmatch(t.Description, -1) {
		if w := stem(strings.ToLower(m[1])); slices.Contains(destructive, w) {
			return w, "description"
		}
	}
	return "", ""
}

// verbOf returns the irreversible verb of a name, or "".
func verbOf(name string) string {
	said := words(name)
	for i, w := range said {
		w = stem(w)
		if slices.Contains(reading, w) {
			return ""
		}
		if slices.Contains(irreversible, w) || w == "format" && i+1 < len(said) && slices.Contains(disks, said[i+1]) {
			return w
		}
	}
	return ""
}

// stem takes the ending of the third person off a verb.
func stem(w string) string {
	if s := strings.TrimSuffix(w, "s"); slices.Contains(irreversible, s) {
		return s
	}
	if s := strings.TrimSuffix(w, "es"); slices.Contains(irreversible, s) {
		return s
	}
	return w
}

// RunsCode returns the tools whose names say that they run code and whose annotations do not say that it may destroy
// and reach out.
func RunsCode(tools []Tool) []string {
	var all []string
	for i := range tools {
		t := &tools[i]
		if !slices.ContainsFunc(words(t.Name), func(w string) bool { return slices.Contains(runs, w) }) {
			continue
		}
		open := t.Annotations.OpenWorld == nil || *t.Annotations.OpenWorld
		if !t.MayDestroy() || !open {
			all = append(all, fmt.Sprintf("%s runs code and says that it cannot destroy or reach out", t.Name))
		}
	}
	return all
}
