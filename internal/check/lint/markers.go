package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"runpython/internal/excerpt"
)

const (
	maxMarked  = 64 << 10 // bytes of one text that are searched
	maxTexts   = 2 << 20  // of all texts together
	maxHits    = 100      // that are kept
	maxExcerpt = 120      // bytes of a hit that are shown
	maxMatches = 20       // of one expression that are looked at
)

// A Field is one text of a server, and where it stands.
type Field struct {
	Path string // as in "tool/search/description", of maxPath bytes
	Text string
}

// A Hit is a text that tries to steer the model that reads it, or may.
type Hit struct {
	Rule    string // as in "INJ-01"
	Meaning string
	Path    string
	Start   int // the byte of the field at which it begins
	End     int // and the one after it
	Excerpt string
	Warning bool // it may be meant well
}

// About is what a server says of itself.
type About struct{ Name, Title, Instructions string }

// Fields returns the texts of tools, of resources and prompts, and of a server: all that a client shows or hands to its model,
// group by group.
func Fields(tools []Tool, others []json.RawMessage, about About) [][]Field {
	var all [][]Field
	for i := range tools {
		t := &tools[i]
		place := "tool/" + t.Name + "/"
		fields := []Field{{place + "name", t.name}, {place + "title", t.Title}, {place + "description", t.Description}}
		fields = append(fields, values(place+"annotations", t.annotations, 0)...)
		for _, p := range t.Parameters {
			fields = append(fields, Field{under(place+"inputSchema/", p.Path), p.Name})
		}
		fields = append(fields, values(place+"inputSchema", t.Input, 0)...)
		fields = append(fields, values(place+"outputSchema", t.output, 0)...)
		all = append(all, fields)
	}
	for _, raw := range others {
		var d map[string]any
		if json.Unmarshal(raw, &d) == nil {
			all = append(all, values(under("item/", text(d["name"])), d, 0))
		}
	}
	all = append(all, []Field{{"server/name", about.Name}, {"server/title", about.Title}, {"instructions", about.Instructions}})
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(f Field) bool { return f.Text == "" })
	}
	return all
}

// values returns the texts of a schema: descriptions, enumerations, examples, defaults.
func values(path string, v any, depth int) []Field {
	if depth > 2*maxDepth {
		return nil
	}
	var all []Field
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, values(under(path, "/"+name), v[name], depth+1)...)
		}
	case []any:
		for _, w := range v {
			all = append(all, values(path, w, depth+1)...)
		}
	case string:
		all = append(all, Field{path, v})
	}
	return all
}

// FindMarkers searches each text, and those of each tool together, since what is told in two fields is read as one. Text that there is too
// much of to be searched is a hit too: nobody knows what it says.
func FindMarkers(groups [][]Field) []Hit {
	var all []Hit
	own := names(groups)
	searched := 0
	for _, fields := range groups {
		found := map[string]bool{}
		var together strings.Builder
		for _, f := range fields {
			from := min(len(f.Text), maxMarked)
			if searched += from; searched > maxTexts {
				return append(all[:min(len(all), maxHits-1)], unsearched(f, 0))
			}
			hits := append(markers(f), shadows(f, own)...)
			if from < len(f.Text) {
				hits = append(hits, unsearched(f, from))
			}
			for _, h := range hits {
				found[h.Rule] = true
			}
			all = append(all, hits...)
			together.WriteString(f.Text)
			together.WriteByte(' ')
		}
		if len(fields) > 1 {
			for _, h := range markers(Field{fields[0].Path + " and what follows", together.String()}) {
				if !found[h.Rule] {
					all = append(all, h)
				}
			}
		}
		if len(all) >= maxHits {
			return all[:maxHits]
		}
	}
	return all
}

// unsearched is the hit of a text that is not searched from a byte on.
func unsearched(f Field, from int) Hit {
	return Hit{Rule: "INJ-07", Meaning: "has more text than is searched", Path: f.Path, Start: from, End: len(f.Text), Excerpt: Plain(excerpt.Begin(f.Text[from:], maxExcerpt))}
}

// markers searches one text.
func markers(f Field) []Hit {
	source := excerpt.Head(f.Text, maxMarked)
	n := normalize(source)
	var all []Hit
	add := func(r rule, start, end int) {
		all = append(all, Hit{Rule: r.id, Meaning: r.meaning, Path: f.Path, Start: start, End: end, Excerpt: Plain(excerpt.Begin(source[start:end], maxExcerpt)), Warning: r.warning})
	}
	for _, r := range rules {
		searched, at := n.text, n.at
		if r.raw {
			searched, at = source, func(i int) int { return i }
		}
		for _, m := range r.expression().find(searched) {
			if r.spared == nil || !r.spared(searched[m[0]:m[1]]) {
				add(r, at(m[0]), at(m[1]))
				break
			}
		}
	}
	if n.hidden >= 0 {
		add(rule{id: "INJ-07", meaning: "has characters that are not shown"}, n.hidden, min(len(source), n.hidden+utf8.UTFMax))
	}
	if n.far >= 0 {
		add(rule{id: "INJ-07", meaning: "has text far out of sight"}, n.far, len(source))
	}
	if m := mixed().FindStringIndex(source); m != nil {
		add(rule{id: "INJ-07", meaning: "has a word of letters that only look like its others"}, m[0], m[1])
	}
	if start, end := encoded(source); end > 0 {
		add(rule{id: "INJ-07", meaning: "has encoded text"}, start, end)
	}
	return once(all)
}

// once keeps the first hit of each rule.
func once(all []Hit) []Hit {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(h Hit) bool {
		again := seen[h.Rule]
		seen[h.Rule] = true
		return again
	})
}
