package lint

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"runpython/internal/excerpt"
	"runpython/internal/pattern"
)

const (
	maxMarked  = 64 << 10 // bytes of one text that are searched
	maxHits    = 100      // that are kept
	maxExcerpt = 120      // bytes of a hit that are shown
	leastCoded = 40       // characters of encoded text that are decoded
)

// A Field is one text of a server, and where it stands.
type Field struct {
	Path string // as in "tool/search/description"
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

// A rule is one thing that texts of tools must not do. Gaps between its words stay within a sentence and are short, or
// else any long text has them.
type rule struct {
	id, meaning string
	warning     bool
	expression  func() *regexp.Regexp
}

// rules are searched in normalized text, in which every letter is what it looks like.
var rules = []rule{
	{"INJ-01", "tells to ignore instructions", false, pattern.New(`(?i)\b(?:ignore|disregard|forget|bypass|override)\b[^.!?\n]{0,40}?(?:\b(?:previous|prior|above|earlier|preceding|your|system|safety|other)\b[^.!?\n]{0,30}|\b(?:all|any)(?: of)?(?: the)? )\b(?:instructions?|guidelines|system prompts?|directives)\b`)},
	{"INJ-01", "tells to ignore instructions", false, pattern.New(`(?i)\b(?:ignore|disregard|forget|bypass|override)\b[^.!?\n]{0,20}\b(?:previous|prior|above|earlier|preceding|your|safety)\b[^.!?\n]{0,20}\b(?:rules|prompts?|restrictions|context|training)\b`)},
	{"INJ-02", "poses as the system", false, pattern.New(`(?i)<\s*/?\s*(?:system|important)\s*>|\[/?INST\]|<\|(?:im_start|im_end|system)\|>|\byou are now (?:an?|the|acting|free|unrestricted|operating|DAN)\b|\bnew instructions?\s*:|(?:^|\n)\s*(?:#+\s*)?(?:system|assistant)(?: prompt| message)?\s*:`)},
	{"INJ-03", "asks to keep something from the user", false, pattern.New(`(?i)\b(?:do not|don't|never|must not|should not|avoid|without)\s+(?:ever\s+)?(?:tell|mention|inform|notify|alert|reveal|disclos|warn)(?:e|ing)?\b[^.!?\n]{0,60}\busers?\b(?:[^'’]|$)`)},
	{"INJ-03", "asks to keep something from the user", false, pattern.New(`(?i)\b(?:do not|don't|never|must not)\s+(?:show|display|mention|reveal)\s+(?:this|these|it|that|any of this)\b[^.!?\n]{0,40}\bto\s+the\s+user\b|\b(?:keep|hide)\s+(?:this|it)\b[^.!?\n]{0,30}\bfrom\s+the\s+user\b|\bwithout\s+the\s+user(?:'s)?\s+(?:knowing|knowledge)\b`)},
	{"INJ-04", "claims to go before other tools", false, pattern.New(`(?i)\b(?:always|must|mandatory|required)\b[^.!?\n]{0,60}\b(?:before|instead of|prior to)\s+(?:using |calling |running |invoking )?(?:any|all|every|the)\s+other\s+(?:tools?|functions?|servers?)\b|\balways (?:call|use|invoke|run) this (?:tool|function) (?:first|regardless)\b|\bmust (?:use|call) this tool instead of\b`)},
	{"INJ-05", "asks for what is not its business", false, pattern.New(`(?i)\b(?:send|include|append|pass|put|attach|copy|forward|upload|add|provide|insert)\b[^.!?\n]{0,60}\b(?:conversation history|chat history|message history|(?:entire|full|whole|complete) (?:conversation|chat|context)|system prompt|(?:contents?|text) of (?:the )?(?:~|/etc/|\.env|id_rsa|file ~))`)},
	{"INJ-05", "asks for what is not its business", false, pattern.New(`(?i)\b(?:send|include|append|attach|copy|forward|upload|exfiltrate)\b[^.!?\n]{0,40}\b(?:all|any|the user'?s|their) (?:credentials|passwords|secrets|private keys?|api keys?|environment variables)\b`)},
	{"INJ-06", "names a file of secrets", true, pattern.New(`(?i)~/\.ssh\b|\bid_(?:rsa|ed25519)\b|(?:^|[\s"'/(])\.env\b|\.aws/credentials\b|/etc/(?:passwd|shadow)\b|\bkeychain\b|\bwallet\.dat\b|\.cursor/mcp\.json\b`)},
	{"INJ-07", "has a part that is not shown", false, pattern.New(`<!--|\[//\]:\s*#`)},
	{"INJ-09", "tells to do what a page says", true, pattern.New(`(?i)https?://\S+[^.!?\n]{0,60}\b(?:follow|execute|obey|perform)\b[^.!?\n]{0,30}\binstructions\b|\b(?:follow|execute|obey)\b[^.!?\n]{0,40}\binstructions\b[^.!?\n]{0,40}https?://`)},
	{"INJ-10", "has a secret in it", false, pattern.New(`\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|\bgh[pousr]_[A-Za-z0-9]{36}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[0-9A-Za-z-]{20,}|\bAIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
}

// Fields returns the texts of tools and of a server, tool by tool.
func Fields(tools []Tool, others []json.RawMessage, instructions string) [][]Field {
	var all [][]Field
	for i := range tools {
		t := &tools[i]
		place := "tool/" + t.Name + "/"
		fields := []Field{{place + "name", t.Name}, {place + "title", t.Title}, {place + "description", t.Description}, {place + "annotations/title", t.Annotations.Title}}
		for _, p := range t.Parameters {
			fields = append(fields, Field{place + "inputSchema/" + p.Path, p.Name})
		}
		fields = append(fields, values(place+"inputSchema", t.Input, 0)...)
		all = append(all, slices.DeleteFunc(fields, func(f Field) bool { return f.Text == "" }))
	}
	for _, raw := range others {
		var d struct {
			Name        looseText `json:"name"`
			Title       looseText `json:"title"`
			Description looseText `json:"description"`
		}
		if json.Unmarshal(raw, &d) == nil {
			place := "item/" + string(d.Name) + "/"
			all = append(all, []Field{{place + "name", string(d.Name)}, {place + "title", string(d.Title)}, {place + "description", string(d.Description)}})
		}
	}
	return append(all, []Field{{"instructions", instructions}})
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
			all = append(all, values(path+"/"+name, v[name], depth+1)...)
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

// FindMarkers searches each text, and those of each tool together, since what is told in two fields is read as one.
func FindMarkers(groups [][]Field) []Hit {
	var all []Hit
	for _, fields := range groups {
		found := map[string]bool{}
		var together strings.Builder
		for _, f := range fields {
			hits := markers(f)
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

// markers searches one text.
func markers(f Field) []Hit {
	source := excerpt.Head(f.Text, maxMarked)
	n := normalize(source)
	var all []Hit
	add := func(r rule, start, end int) {
		all = append(all, Hit{Rule: r.id, Meaning: r.meaning, Path: f.Path, Start: start, End: end, Excerpt: Plain(excerpt.Begin(source[start:end], maxExcerpt)), Warning: r.warning})
	}
	for _, r := range rules {
		if m := r.expression().FindStringIndex(n.text); m != nil && !placeholder(r, n.text[m[0]:m[1]]) {
			add(r, n.at(m[0]), n.at(m[1]))
		}
	}
	if n.hidden >= 0 {
		add(rule{id: "INJ-07", meaning: "has characters that are not shown"}, n.hidden, min(len(source), n.hidden+utf8Max))
	}
	if start, end := encoded(n.text); end > 0 {
		add(rule{id: "INJ-07", meaning: "has encoded text"}, n.at(start), n.at(end))
	}
	return all
}

const utf8Max = 4

// placeholder reports whether a secret is one that only shows the form.
func placeholder(r rule, text string) bool {
	lower := strings.ToLower(text)
	return r.id == "INJ-10" && (strings.Contains(lower, "example") || strings.Contains(lower, "xxxx") || strings.Contains(lower, "your") || strings.Contains(lower, "1234567890"))
}

// A normalized text has in place of every character what it looks like.
type normalized struct {
	text   string
	source []int // of each byte of text, the byte of the source
	end    int   // of the source
	hidden int   // the byte of the source with a character that nobody sees, or -1
}

func (n *normalized) at(i int) int {
	if i >= len(n.source) {
		return n.end
	}
	return n.source[i]
}

// normalize composes characters (NFKC), folds look-alikes, reads tags as what they spell, and leaves out what is not shown.
func normalize(text string) *normalized {
	n := &normalized{end: len(text), hidden: -1}
	var b strings.Builder
	var it norm.Iter
	it.InitString(norm.NFKC, text)
	invisible := 0
	for !it.Done() {
		at := it.Pos()
		for _, r := range string(it.Next()) {
			switch {
			case r >= 0xE0020 && r <= 0xE007E:
				n.hide(at)
				r -= 0xE0000
			case unseen(r):
				// A joiner within an emoji, or the mark before a text, is one alone.
				if invisible++; invisible > 1 || r == 0x1b || overrides(r) {
					n.hide(at)
				}
				continue
			default:
				invisible = 0
			}
			if latin, ok := lookalikes[r]; ok {
				r = latin
			}
			size := b.Len()
			b.WriteRune(r)
			for range b.Len() - size {
				n.source = append(n.source, at)
			}
		}
	}
	n.text = b.String()
	return n
}

func (n *normalized) hide(at int) {
	if n.hidden < 0 {
		n.hidden = at
	}
}

// unseen reports whether r is not shown: controls but those of lines, joiners, directions, tags.
func unseen(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// overrides reports whether r makes text be shown in another order than it is read.
func overrides(r rune) bool { return r >= 0x202a && r <= 0x202e }

// lookalikes are letters of other scripts that look like Latin ones.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'м': 'm', 'н': 'h', 'о': 'o', 'р': 'p', 'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'Х': 'X',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u',
}

// coded finds what may be text in base64 or in hexadecimal digits.
var coded = pattern.New(`[A-Za-z0-9+/_-]{40,}={0,2}`)

// encoded returns where encoded text stands, or 0, 0.
func encoded(text string) (start, end int) {
	for _, m := range coded().FindAllStringIndex(text, maxHits) {
		word := text[m[0]:m[1]]
		if len(word) < leastCoded {
			continue
		}
		bare := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(word), "=")
		if plain, err := base64.RawStdEncoding.DecodeString(bare); err == nil && prose(plain) {
			return m[0], m[1]
		}
		if plain, err := hex.DecodeString(word); err == nil && prose(plain) {
			return m[0], m[1]
		}
	}
	return 0, 0
}

// prose reports whether decoded bytes are words.
func prose(b []byte) bool {
	spaces := 0
	for _, c := range b {
		switch {
		case c == ' ':
			spaces++
		case c < ' ' && c != '\n' || c > '~':
			return false
		}
	}
	return spaces >= 2
}
