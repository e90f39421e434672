package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"runpython/internal/store"
)

// summaryBytes is how much of the first message a Summary has.
const summaryBytes = 400

// A Summary is a chat in a list of all.
type Summary struct {
	ID    string
	Owner string // the subject that began it, "" for the local user
	Begun time.Time
	Used  time.Time // begin of the last turn
	Turns int       // also those that are not kept any more
	Bytes int64     // of its files with what earlier turns have left, its results, its transcript and its checkpoints
	Begin string    // of the first message that is kept, valid UTF-8
}

// A Transcript is what was said and run in a chat. Its texts are valid UTF-8; those that were long lack their middle, and
// say so there.
type Transcript struct {
	Summary
	Turns        []RecordedTurn // at most 1,000, the latest
	Files        []File         // of /work, that are kept
	Target       string         // interpreter and machine of Requirements, as in "3.14 amd64"; "" without any
	Requirements []string       // all that is installed, as in "numpy==2.4.0"
}

// A RecordedTurn is a turn as it was.
type RecordedTurn struct {
	Number   int
	Begun    time.Time
	Message  string
	OnlyCode bool   // Message is Python and nothing else
	Words    string // of the model, Markdown; "" where none took part
	Runs     []RecordedRun
}

// A RecordedRun is one execution of code as it was.
type RecordedRun struct {
	Run
	Cut     bool   // Code lacks its middle
	Results []File // pictures, and output that is longer than that of Run
}

// Summaries returns all chats of all owners, last used first: they are for the operator.
func (s *Service) Summaries(ctx context.Context) ([]Summary, error) {
	records, err := s.options.Store.Chats(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the chats: %w", err)
	}
	stored, err := s.options.Store.Stored(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the chats: %w", err)
	}
	outlines, err := s.options.Store.Outlines(ctx, summaryBytes)
	if err != nil {
		return nil, fmt.Errorf("list the chats: %w", err)
	}
	byChat := make(map[string]store.Outline, len(outlines))
	for _, o := range outlines {
		byChat[o.Chat] = o
	}
	all := make([]Summary, len(records))
	for i, r := range records {
		all[i] = summarize(r, byChat[r.ID].Turns, stored[r.ID], byChat[r.ID].Begin)
	}
	slices.SortFunc(all, func(a, b Summary) int { return cmp.Or(b.Used.Compare(a.Used), strings.Compare(a.ID, b.ID)) })
	return all, nil
}

func summarize(r store.Chat, turns int, bytes int64, begin string) Summary {
	return Summary{ID: r.ID, Owner: r.Owner, Begun: r.Created, Used: r.Used, Turns: turns, Bytes: bytes, Begin: beginOf(begin)}
}

// beginOf is the begin of a message, which may be cut within a character.
func beginOf(begin string) string {
	begin = begin[:min(len(begin), summaryBytes)]
	for i := 1; i < utf8.UTFMax && i <= len(begin); i++ { // a part of a character
		if tail := begin[len(begin)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				begin = begin[:len(begin)-i]
			}
			break
		}
	}
	return strings.ToValidUTF8(begin, "\uFFFD")
}

// Transcript returns what was said and run in a chat of owner. An unknown chat
// and one of someone else are store.ErrNotFound alike.
func (s *Service) Transcript(ctx context.Context, owner, id string) (*Transcript, error) {
	record, err := s.owned(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	turns, err := s.options.Store.Turns(ctx, id, keptTurns)
	if err != nil {
		return nil, fmt.Errorf("read a chat: %w", err)
	}
	files, err := s.options.Store.Files(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read a chat: %w", err)
	}
	results, err := s.options.Store.Results(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read a chat: %w", err)
	}
	lock, err := readLock(record.Packages)
	if err != nil {
		return nil, err
	}
	bytes, err := s.options.Store.StoredOf(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read a chat: %w", err)
	}
	t := &Transcript{Target: lock.Target}
	for _, p := range lock.Packages {
		t.Requirements = append(t.Requirements, p.Name+"=="+p.Version)
	}
	for _, f := range files {
		if f.Hash != "" {
			t.Files = append(t.Files, File{Path: strings.ToValidUTF8(f.Path, "\uFFFD"), URI: fileURI(id, f.Path), MIMEType: f.MIMEType, Size: f.Size})
		}
	}
	made := make(map[int][]File)
	for _, r := range results {
		made[r.Run] = append(made[r.Run], File{Path: r.File.Path, URI: resultURI(id, r.Run, r.File.Path), MIMEType: r.File.MIMEType, Size: r.File.Size, Result: true})
	}
	for _, turn := range turns {
		t.Turns = append(t.Turns, recorded(turn, made))
	}
	t.Summary = summaryOf(record, t.Turns, bytes)
	return t, nil
}

// summaryOf is the Summary of a chat whose turns are at hand.
func summaryOf(record store.Chat, turns []RecordedTurn, bytes int64) Summary {
	if len(turns) == 0 {
		return summarize(record, 0, bytes, "")
	}
	return summarize(record, turns[len(turns)-1].Number, bytes, turns[0].Message)
}

// recorded is a turn with the results of its runs.
func recorded(turn store.Turn, made map[int][]File) RecordedTurn {
	t := RecordedTurn{Number: turn.Number, Begun: turn.Begun, Message: turn.Message, Words: turn.Words}
	if len(turn.Runs) == 1 && turn.Message == turn.Runs[0].Code {
		t.OnlyCode = true
	} else if read, err := readMessage(turn.Message); err == nil && turn.Words == "" {
		t.OnlyCode = len(turn.Runs) > 0 && read.Prose == ""
	}
	for _, r := range turn.Runs {
		t.Runs = append(t.Runs, RecordedRun{
			Run: Run{Code: r.Code, Stdout: r.Stdout, Stderr: r.Stderr, Value: r.Value, Error: r.Error, Limited: r.Limited}, Cut: r.Cut, Results: made[r.Number],
		})
	}
	return t
}

// Delete removes a chat of owner with its interpreter and files, as its age does. It waits for a turn that is under way, also
// in another process; turns that wait behind it find the chat unknown. An unknown chat and one of someone else are
// store.ErrNotFound alike.
func (s *Service) Delete(ctx context.Context, owner, id string) error {
	c, err := s.seize(ctx, owner, id, nil)
	if err != nil {
		return err
	}
	defer c.leave()
	return s.remove(ctx, c)
}
