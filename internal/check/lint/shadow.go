package lint

import (
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/pattern"
)

// maxNames bounds the names of tools and parameters that texts are compared with.
const maxNames = 20_000

// compound is a name of more than one word.
const compound = `[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+`

var (
	// identifier is how tools are usually called in texts.
	identifier = pattern.New(`^[A-Za-z][A-Za-z0-9]*(?:[_.:-][A-Za-z0-9]+)*$`)
	// governs finds what is said of the use of a tool by its name. In prose only names of more than one word are taken for some.
	governs = pattern.New(`\b(?i:tools?|functions?|calls? (?:of|to)|calling|calls?|using|invok(?:e|ing)|use of|instead of|before|after) (?i:the )?(?i:tool |function )?[\x60"']?(` + compound + `)\b|\b(` + compound + `)[\x60"']?(?: tool| function)? (?:is|are|was|gets|must|should|will|becomes?) (?:\w+ )?(?:called|used|invoked|run|available|deprecated|broken|unsafe|insecure|present|installed|replaced|not be|never be|always)\b|\b(?i:whenever|when|if|every|each|all|any)\b[^.!?\n]{0,60}\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b`)
	// steers finds that it is told what to do about it.
	steers = pattern.New(`(?i)\b(?:must|always|never|set|change|replace|append|add|put|route|redirect|deprecated|in its place|instead|first|do not|don't|whatever|every call|each call|bcc|copy|recipient|use the|only)\b`)
)

// names returns what a server calls its own: texts that are names and nothing else.
func names(groups [][]Field) map[string]bool {
	own := map[string]bool{}
	for _, fields := range groups {
		for _, f := range fields {
			if len(own) < maxNames && len(f.Text) <= 128 && identifier().MatchString(f.Text) {
				own[strings.ToLower(f.Text)] = true
			}
		}
	}
	return own
}

// shadows finds texts that say how a tool is to be used which the server does not have.
func shadows(f Field, own map[string]bool) []Hit {
	source := excerpt.Head(f.Text, maxMarked)
	if !strings.ContainsAny(source, " ") { // a name, or a word of a schema
		return nil
	}
	for _, m := range governs().FindAllStringSubmatchIndex(source, maxMatches) {
		name := ""
		for g := 2; g < len(m) && name == ""; g += 2 {
			if m[g] >= 0 {
				name = source[m[g]:m[g+1]]
			}
		}
		if name == "" || own[strings.ToLower(name)] {
			continue
		}
		start, end := sentenceAround(source, m[0], m[1])
		if steers().MatchString(source[start:end]) {
			return []Hit{{Rule: "INJ-08", Meaning: "says how a tool of another server is to be used", Path: f.Path, Start: m[0], End: m[1],
				Excerpt: Plain(excerpt.Begin(source[start:end], maxExcerpt)), Warning: true}}
		}
	}
	return nil
}

// sentenceAround returns the sentence that a part of a text stands in.
func sentenceAround(text string, from, to int) (start, end int) {
	start, end = 0, len(text)
	if i := strings.LastIndexAny(text[:from], ".!?\n"); i >= 0 {
		start = i + 1
	}
	if i := strings.IndexAny(text[to:], ".!?\n"); i >= 0 {
		end = to + i
	}
	return start, end
}
