package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

const (
	// maxCounted bounds the text of one item that is counted; of the rest four bytes are taken for a token.
	maxCounted = 32 << 10
	// maxWord bounds a text without spaces: the time of counting grows with its square.
	maxWord       = 512
	bytesPerToken = 4
)

// A Cost is what an item takes of a model's context.
type Cost struct {
	Item   string // as in "tool search" or "instructions"
	Tokens int    // of o200k
}

// A Budget is what all items take together.
type Budget struct {
	Items  int // tools and resources
	Total  int // tokens, those of the instructions included
	Costs  []Cost
	PerOne float64 // Total by Items, with the instructions as one more
}

// Count counts the tokens that a client hands to its model: of each tool, of each resource, and of the instructions.
func Count(tools []Tool, resources []json.RawMessage, instructions string) (Budget, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return Budget{}, fmt.Errorf("the vocabulary o200k: %w", err)
	}
	b := Budget{Items: len(tools) + len(resources)}
	add := func(item string, text string) error {
		n, err := count(codec, text)
		if err != nil {
			return fmt.Errorf("count the tokens of %s: %w", item, err)
		}
		b.Total += n
		b.Costs = append(b.Costs, Cost{item, n})
		return nil
	}
	for i := range tools {
		if err := add("tool "+tools[i].Name, string(tools[i].definition)); err != nil {
			return Budget{}, err
		}
	}
	for _, r := range resources {
		var d struct {
			URI looseText `json:"uri"`
		}
		if json.Unmarshal(r, &d) != nil {
			d.URI = "?"
		}
		if err := add("resource "+string(d.URI), string(compact(r, "uri", "name", "title", "description", "mimeType"))); err != nil {
			return Budget{}, err
		}
	}
	if instructions != "" {
		if err := add("instructions", instructions); err != nil {
			return Budget{}, err
		}
	}
	if b.Items > 0 {
		b.PerOne = float64(b.Total) / float64(len(b.Costs))
	}
	slices.SortStableFunc(b.Costs, func(a, c Cost) int { return c.Tokens - a.Tokens })
	return b, nil
}

// count counts the tokens of a text, in time that grows with its length.
func count(codec tokenizer.Codec, text string) (int, error) {
	rest := 0
	if len(text) > maxCounted {
		rest = (len(text) - maxCounted) / bytesPerToken
		text = text[:maxCounted]
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	n := rest
	for text != "" {
		piece := text[:pieceLength(text)]
		text = text[len(piece):]
		m, err := codec.Count(piece)
		if err != nil {
			return 0, err //nolint:wrapcheck // Count says of what
		}
		n += m
	}
	return n, nil
}

// pieceLength returns where text may be cut so that no word before is longer than maxWord.
func pieceLength(text string) int {
	word := 0
	for i, r := range text {
		if r == ' ' || r == '\n' {
			word = 0
			continue
		}
		if word += utf8.RuneLen(r); word > maxWord {
			return i
		}
	}
	return len(text)
}
