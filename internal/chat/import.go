package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"runpython/internal/agent"
	"runpython/internal/excerpt"
	"runpython/internal/fault"
	"runpython/internal/store"
)

// MaxImportedTurns is how many turns a chat may have that comes from elsewhere: all of them are kept.
const MaxImportedTurns = keptTurns

// MaxImportedRuns is how many runs one of them may have.
const MaxImportedRuns = keptRuns

// An ImportedTurn is a turn of a chat that comes from elsewhere. Texts that are too long lose their middle.
type ImportedTurn struct {
	Message string // "" for the code of its runs
	Words   string // of whoever has answered, Markdown
	Runs    []ImportedRun
}

// An ImportedRun is code with what it gave elsewhere.
type ImportedRun struct {
	Run
	Pictures []Picture
}

// A Picture is one that a run gave.
type Picture struct {
	Name     string // of the result, at most MaxPictureName bytes
	MIMEType string
	Data     []byte
}

// MaxImportedCode is how many bytes of code are kept of a run; of longer code the middle is left out, and it cannot run again.
const MaxImportedCode = keptSource

// MaxPictureName bounds the name of a Picture.
const MaxPictureName = 200

// lossImported is why a chat has no variables at its first turn here.
const lossImported = "the chat was imported, and its code has not run here"

// Import makes a chat of owner of turns that come from elsewhere. Nothing runs. With replay the first turn of the chat executes their
// runs before its own; without it that turn says that there are no variables. All of the chat is there or nothing. Of pictures the
// latest are kept, within the bounds of results. More turns or runs than the most are fault.Invalid.
func (s *Service) Import(ctx context.Context, owner string, turns []ImportedTurn, replay bool) (id string, err error) {
	if len(turns) > MaxImportedTurns {
		return "", fault.New(fault.Invalid, nil, fmt.Sprintf("there are %d turns; the most that a chat keeps is %d", len(turns), MaxImportedTurns))
	}
	if err := s.sweep(ctx); err != nil {
		return "", stopped(ctx, err)
	}
	now := s.options.Now()
	c := store.Chat{ID: newID(), Owner: owner, Created: now, Used: now}
	records := make([]store.Turn, len(turns))
	var pictures []picture
	for i, t := range turns {
		if len(t.Runs) > MaxImportedRuns {
			return "", fault.New(fault.Invalid, nil, fmt.Sprintf("turn %d has %d runs; the most is %d", i+1, len(t.Runs), MaxImportedRuns))
		}
		records[i] = importedTurn(i+1, c.Runs, t)
		records[i].Begun = now
		for j, r := range t.Runs {
			records[i].Runs[j].Elsewhere = !replay
			for _, p := range r.Pictures {
				pictures = append(pictures, picture{c.Runs + j + 1, p})
			}
		}
		c.Runs += len(t.Runs)
	}
	switch {
	case replay:
		c.Replay = store.ReplayAsNew
	case c.Runs > 0:
		c.Loss = lossImported
	}
	results, files, err := s.keepPictures(latestWithin(pictures))
	if err != nil {
		s.giveUp(context.WithoutCancel(ctx), files)
		return "", ofDisk(err)
	}
	err = s.refer(ctx, files, func() ([]string, error) {
		return nil, s.options.Store.Import(ctx, c, records, results)
	})
	if err != nil {
		return "", stopped(ctx, fmt.Errorf("import a chat: %w", ofDisk(err)))
	}
	return c.ID, nil
}

// importedTurn is the record of a turn, before which there were so many runs.
func importedTurn(number, runs int, t ImportedTurn) store.Turn {
	record := store.Turn{Number: number}
	var steps []agent.Step
	var codes []string
	for i, r := range t.Runs {
		record.Runs = append(record.Runs, keptRun(runs+i+1, r.Run))
		outcome := strings.Join(notEmpty(r.Stdout, r.Stderr, r.Value, r.Error), "\n")
		steps = append(steps, agent.Step{Code: r.Code, Result: excerpt.Middle(outcome, keptOutput), Failed: r.Error != ""})
		codes = append(codes, r.Code)
	}
	message := t.Message
	switch {
	case message != "":
	case len(codes) == 1:
		message = codes[0]
	default:
		for i, code := range codes {
			codes[i] = messageOf(code)
		}
		message = strings.Join(codes, "\n\n")
	}
	e := agent.Remember(nil, agent.Exchange{Message: message, Answer: t.Words, Steps: steps})[0]
	record.Message, record.Words = excerpt.Middle(message, keptSource), excerpt.Middle(t.Words, keptSource)
	for _, step := range e.Steps {
		record.Steps = append(record.Steps, store.Step(step))
	}
	return record
}

func notEmpty(texts ...string) (all []string) {
	for _, t := range texts {
		if t != "" {
			all = append(all, t)
		}
	}
	return all
}

// picture is one of a run.
type picture struct {
	run int
	Picture
}

// latestWithin are those of pictures, the oldest first, that are kept.
func latestWithin(pictures []picture) []picture {
	bytes := 0
	for i, p := range slices.Backward(pictures) {
		if bytes += len(p.Data); bytes > keptResultBytes || len(pictures)-i > keptResults {
			return pictures[i+1:]
		}
	}
	return pictures
}

// keepPictures keeps and holds the content of pictures, also of those before an error. Of those with the same name in a
// run the last one stays.
func (s *Service) keepPictures(pictures []picture) (results []store.Result, files []store.File, err error) {
	type name struct {
		run  int
		name string
	}
	at := make(map[name]int)
	for _, p := range pictures {
		if p.Name == "" || len(p.Name) > MaxPictureName || strings.ContainsAny(p.Name, "/\x00") {
			return nil, files, errors.New("import a chat: a picture has a name that no result may have")
		}
		hash, size, err := s.options.Content.Put(bytes.NewReader(p.Data))
		if err != nil {
			return nil, files, err //nolint:wrapcheck // says what it is
		}
		f := store.File{Path: p.Name, Hash: hash, Size: size, MIMEType: p.MIMEType}
		files = append(files, f)
		if i, there := at[name{p.run, p.Name}]; there {
			results[i].File = f
			continue
		}
		at[name{p.run, p.Name}] = len(results)
		results = append(results, store.Result{Run: p.run, File: f})
	}
	return results, files, nil
}
