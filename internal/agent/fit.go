package agent

import (
	"fmt"
	"sort"
	"sync"

	"runpython/internal/llm"
)

// How a conversation is made to fit the window of the model. It is shown whole, apart from the bounds
// of single texts, as long as it fits. Else the following is done, each step only if the one before was not enough:
//
//  1. outputs of earlier requests shrink to oldResultBytes, their middle left out;
//  2. outputs of the request at hand shrink in the same way to olderResultBytes, apart from the last;
//  3. earlier requests go, the oldest first;
//  4. steps on the request at hand go, the oldest first, but the last two;
//  5. the request, the last outputs and the code between them are halved until they fit, down to leastBytes.
//
// The system prompt, the request and the last output are always there. A server that finds the conversation
// too long all the same is asked again with half of it, maxShrinks times.
const (
	oldResultBytes   = 400
	olderResultBytes = 1_000
	keptEntries      = 2
	leastBytes       = 500
	maxShrinks       = 2
)

const (
	// replyShare is the part of the window that is left for the reply, replyTokens the most that is.
	replyShare  = 4
	replyTokens = 8_192
	// messageOverhead is what a message takes beside its text, in bytes; imageTokens what a picture takes.
	messageOverhead = 16
	imageTokens     = 1_500
)

// fitting says how much of a conversation is shown.
type fitting struct {
	turns        int // left out of the history
	entries      int // left out of the task
	historyBytes int // of each result of the history
	entryBytes   int // … of the task but the last
	lastBytes    int // … of the last entry
	codeBytes    int
	messageBytes int
}

// whole shows all of a conversation within the bounds of single texts.
func (o Options) whole() fitting {
	bytes := min(maxResultBytes, max(leastBytes, o.Window))
	return fitting{historyBytes: bytes, entryBytes: bytes, lastBytes: bytes, codeBytes: MaxCodeBytes, messageBytes: maxMessageBytes}
}

// fit renders c within so many bytes by the rule above.
func (c *conversation) fit(p Protocol, f fitting, budget int) []llm.Message {
	var m []llm.Message
	fits := func() bool {
		m = c.render(p, f)
		return sizeOf(m) <= budget
	}
	if fits() {
		return m
	}
	if f.historyBytes = min(f.historyBytes, oldResultBytes); fits() {
		return m
	}
	if f.entryBytes = min(f.entryBytes, olderResultBytes); fits() {
		return m
	}
	if least(&f.turns, len(c.history), fits) || least(&f.entries, len(c.entries)-keptEntries, fits) {
		return m
	}
	for f.lastBytes > leastBytes || f.messageBytes > leastBytes {
		f.lastBytes, f.messageBytes = max(f.lastBytes/2, leastBytes), max(f.messageBytes/2, leastBytes)
		f.codeBytes, f.entryBytes = max(f.codeBytes/2, leastBytes), max(f.entryBytes/2, leastBytes)
		if fits() {
			return m
		}
	}
	return m
}

// least sets n to the smallest number up to most with which it fits, and reports whether there is one. Each look renders
// the whole conversation, the last one with the number that was found.
func least(n *int, most int, fits func() bool) bool {
	*n = sort.Search(max(0, most), func(number int) bool {
		*n = number
		return fits()
	})
	return fits()
}

// sizeOf returns the bytes of a conversation, pictures apart.
func sizeOf(all []llm.Message) int {
	n := 0
	for _, m := range all {
		n += len(m.Text) + messageOverhead
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Arguments) + messageOverhead
		}
	}
	return n
}

// sizeOfTools returns the bytes of tools as they are sent, or nearly.
func sizeOfTools(tools []llm.Tool) int {
	n := 0
	for _, t := range tools {
		n += len(t.Name) + len(t.Description) + len(fmt.Sprint(t.Schema))
	}
	return n
}

// A gauge knows how many tokens a byte is. It learns from what servers report, and is safe for concurrent use.
type gauge struct {
	mu      sync.Mutex
	perByte float64 // 0 before anything is known
}

// What a byte is before anything is known, and the least and the most that it may be taken for: a report
// may be wrong, or of a conversation with pictures.
const (
	usualTokens = 0.3
	leastTokens = 0.15
	mostTokens  = 0.8
	// newWeight is the weight of a new report against what was known.
	newWeight = 0.3
)

// learn takes a report over.
func (g *gauge) learn(bytes int, u llm.Usage) {
	if u.Estimated || u.Input <= 0 || bytes <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := min(max(float64(u.Input)/float64(bytes), leastTokens), mostTokens)
	if g.perByte == 0 {
		g.perByte = now
		return
	}
	g.perByte += newWeight * (now - g.perByte)
}

// tokens estimates what so many bytes are.
func (g *gauge) tokens(bytes int) int { return int(float64(bytes)*g.rate()) + 1 }

// bytes estimates how many bytes so many tokens are.
func (g *gauge) bytes(tokens int) int { return int(float64(tokens) / g.rate()) }

func (g *gauge) rate() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.perByte == 0 {
		return usualTokens
	}
	return g.perByte
}
