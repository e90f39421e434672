package cli_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"runpython/internal/chat"
	"runpython/internal/cli"
	"runpython/internal/config"
	"runpython/internal/fault"
)

// fakeRecords has one chat, whose texts would like to do something to a terminal.
type fakeRecords struct{}

func openFakeRecords(context.Context, config.Config, *slog.Logger) (cli.Records, error) {
	return fakeRecords{}, nil
}

func fakeSummary() chat.Summary {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return chat.Summary{ID: fakeID, Begun: at, Used: at.Add(time.Hour), Turns: 1, Bytes: 2048, Begin: "how\nmany? " + strings.Repeat("x", 80)}
}

func (fakeRecords) Summaries(context.Context) ([]chat.Summary, error) {
	return []chat.Summary{fakeSummary()}, nil
}

func (fakeRecords) Transcript(_ context.Context, id string) (*chat.Transcript, error) {
	if id != fakeID {
		return nil, unknownFake(id)
	}
	return &chat.Transcript{
		Summary: fakeSummary(), Requirements: []string{"numpy==2.4.0"}, Files: []chat.File{{Path: "a\nb.csv", Size: 3, MIMEType: "text/csv"}},
		Turns: []chat.RecordedTurn{{Number: 1, Begun: fakeSummary().Begun, Message: "how many?", Words: "It is **42**.", Runs: []chat.RecordedRun{
			{Run: chat.Run{Code: "6 * 7", Stdout: "```\n# no title\n", Value: "42"}},
		}}},
	}, nil
}

func unknownFake(id string) error {
	return fault.New(fault.NotFound, nil, fmt.Sprintf("there is no chat %q", id))
}

func (fakeRecords) Open(context.Context, *chat.Transcript, chat.File) (io.ReadCloser, error) {
	return nil, unknownFake("")
}

func (fakeRecords) Delete(_ context.Context, id string) error {
	if id != fakeID {
		return unknownFake(id)
	}
	return nil
}

func (fakeRecords) Backup(_ context.Context, w io.Writer) (cli.Backup, error) {
	_, err := io.WriteString(w, "archive")
	return cli.Backup{Chats: 1, Files: 2, Missing: 3}, err
}

func (fakeRecords) Close() error { return nil }

func (fakeRecords) Fork(_ context.Context, id string) (*chat.Forked, error) {
	switch id {
	case fakeID:
		return &chat.Forked{ID: strings.Repeat("b", 26)}, nil
	case strings.Repeat("c", 26):
		return &chat.Forked{ID: strings.Repeat("d", 26), Loss: "it crashed"}, nil
	}
	return nil, unknownFake(id)
}

func (fakeRecords) Undo(_ context.Context, id string) (*chat.Undone, error) {
	switch id {
	case fakeID:
		return &chat.Undone{Turn: 3, Message: "plot\x1b[2J\nit", Base: 1, Again: []int{2}}, nil
	case strings.Repeat("c", 26):
		return &chat.Undone{Turn: 3, Message: "plot it", Base: 2}, nil
	}
	return nil, unknownFake(id)
}

func (fakeRecords) Import(_ context.Context, turns []chat.ImportedTurn, replay bool) (string, error) {
	if len(turns) != 2 || turns[0].Message != "# title" || len(turns[1].Runs) != 1 || turns[1].Runs[0].Code != "x = 1\nx" {
		return "", fmt.Errorf("turns %+v", turns)
	}
	if replay {
		return strings.Repeat("e", 26), nil
	}
	return strings.Repeat("f", 26), nil
}
