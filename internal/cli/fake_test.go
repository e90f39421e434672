package cli_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"runpython/internal/chat"
	"runpython/internal/cli"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/llm"
)

// fakeID is the id of the first chat of a fake program.
const fakeID = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

// fakeProgram runs messages in a small language instead of Python, one word and a
// text on each line; see fakeApp.do.
func fakeProgram() cli.Program {
	return cli.Program{
		Versions: cli.Versions{Program: "0.1.0", GVisor: "release-1", CPython: "3.14.6"},
		Open: func(_ context.Context, cfg config.Config, log *slog.Logger) (cli.App, error) {
			log.Info("opened")
			switch os.Getenv("FAKE_OPEN") {
			case "unsupported":
				return nil, fault.New(fault.Unsupported, nil, "user namespaces are off: set kernel.unprivileged_userns_clone=1")
			case "internal":
				return nil, errors.New("open \x1b[2J data: disk on fire")
			}
			if os.Getenv("FAKE_WARN") != "" {
				log.Warn("a limit is missing", "limit", cfg.MemoryBytes)
			}
			return &fakeApp{log: log, files: make(map[string]string)}, nil
		},
		OpenRecords: openFakeRecords, OpenAccounts: openKept,
		Doctor: fakeDoctor,
	}
}

func fakeDoctor(context.Context, config.Config) ([]cli.Check, error) {
	checks := []cli.Check{
		{Name: "user namespaces", Status: cli.StatusOK, Detail: "enabled"},
		{Name: "cgroups", Status: cli.StatusWarn, Detail: "not delegated", Remedy: "start it by systemd-run --user --scope"},
		{Name: "disk", Status: cli.StatusSkip, Detail: "no data directory yet"},
	}
	switch os.Getenv("FAKE_DOCTOR") {
	case "fail":
		return append(checks, cli.Check{Name: "guest", Status: cli.StatusFail, Detail: "does not start", Remedy: "see above"}), nil
	case "error":
		return nil, errors.New("read /proc: gone")
	}
	return checks, nil
}

// A fakeApp has one chat with one variable.
type fakeApp struct {
	log      *slog.Logger
	begun    bool
	turns    int
	variable string
	files    map[string]string // content by URI
	uploads  []string
}

// SetupLink returns what FAKE_SETUP says.
func (a *fakeApp) SetupLink(context.Context) (string, error) { return os.Getenv("FAKE_SETUP"), nil }

func (a *fakeApp) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	a.log.Info("turn", "bytes", len(r.Message))
	if r.ChatID != "" && (!a.begun || r.ChatID != fakeID) {
		return &chat.Reply{IsError: true, State: chat.New, Text: "There is no chat with this chat_id."}, nil
	}
	reply := &chat.Reply{ChatID: fakeID, State: chat.Kept, Runs: []chat.Run{{Code: r.Message, Duration: 1500 * time.Microsecond}}}
	if a.turns == 0 {
		reply.State = chat.New
	}
	a.begun = true
	a.turns++
	run := &reply.Runs[0]
	if strings.HasPrefix(r.Message, "~~~python\n\"\"\"") { // real Python, which comes before a check of eval
		return reply, nil
	}
	for line := range strings.Lines(r.Message) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if plain, err := strconv.Unquote(text); err == nil {
			text = plain
		}
		if err := a.do(ctx, r, reply, word, text); err != nil {
			return nil, err
		}
	}
	if reply.Text == "" {
		for _, p := range []string{run.Stdout, run.Stderr, run.Value, run.Error} {
			if p != "" {
				reply.Text += "```\n" + p + "\n```\n"
			}
		}
	}
	return reply, nil
}

// do does one line of a message.
func (a *fakeApp) do(ctx context.Context, r chat.Request, reply *chat.Reply, word, text string) error {
	run := &reply.Runs[0]
	switch word {
	case "~~~python", "~~~": // around code that eval runs
	case "out":
		run.Stdout += text + "\n"
	case "err":
		run.Stderr += text + "\n"
	case "raw":
		run.Stdout += text
	case "value":
		run.Value = text
	case "raise":
		run.Error, reply.IsError = text, true
	case "expect": // of what was uploaded last, which eval lets its checks judge
		if !strings.Contains(a.uploads[len(a.uploads)-1], text) {
			run.Error, reply.IsError = "AssertionError: no "+text, true
		}
	case "text":
		reply.Text += text + "\n"
	case "lost": // beside what the code did
		reply.Problems, reply.IsError = append(reply.Problems, text), true
	case "prose": // nothing to run
		reply.Runs, reply.Text, reply.IsError = nil, text, true
		reply.ChatID = ""
	case "set":
		a.variable = text
	case "get":
		run.Stdout += a.variable + "\n"
	case "reset":
		reply.State, reply.StateReason = chat.Reset, text
	case "package":
		name, version, _ := strings.Cut(text, " ")
		reply.Packages = append(reply.Packages, chat.Package{Name: name, Version: version})
	case "uploads":
		run.Stdout += strings.Join(a.uploads, "\n") + "\n"
	case "image":
		reply.Images = append(reply.Images, chat.Image{Name: text, MIMEType: "image/png", Data: []byte("\x89PNG"), Width: 4, Height: 3})
	case "file", "lie":
		uri := "runpython://" + strconv.Itoa(len(a.files))
		a.files[uri] = "content of " + text
		size := len(a.files[uri])
		if word == "lie" {
			size--
		}
		reply.Files = append(reply.Files, chat.File{Path: text, URI: uri, MIMEType: "text/plain", Size: int64(size)})
	case "link":
		reply.Files = append(reply.Files, chat.File{Path: text, Skipped: "symbolic link"})
	case "wait":
		r.Progress(chat.Progress{Step: "running"})
		r.Progress(chat.Progress{Step: "output", Stdout: "waiting for Ctrl-C\n"})
		<-ctx.Done()
		run.Stdout, run.Error, reply.IsError = "waiting for Ctrl-C\n", "Stopped, because the caller stopped the call.", true
	case "ask":
		if r.Ask == nil {
			run.Error, reply.IsError = "EOFError: nobody", true
			break
		}
		r.Progress(chat.Progress{Step: "asking"})
		a := r.Ask(ctx, chat.Question{Prompt: text, Output: "\x1b[2Jso far\n"})
		run.Stdout += fmt.Sprintf("%s %q\n", a.Outcome, a.Text)
		if ctx.Err() != nil {
			run.Error, reply.IsError = "Stopped, because the caller stopped the call.", true
		}
	case "model": // has answered
		reply.Model = &chat.ModelUse{Name: "fake/model", End: "answered", Requests: 2, Usage: llm.Usage{Input: 700, Output: 80}, Words: text}
	case "unreachable":
		reply.Model = &chat.ModelUse{Name: "fake/model", End: "failed", Requests: 1}
		reply.Text, reply.IsError = text, true
	case "cancel": // before anything ran
		r.Progress(chat.Progress{Step: "output", Stdout: "seen before\n"})
		<-ctx.Done()
		return fault.New(fault.Canceled, ctx.Err(), "the call was stopped")
	case "signal":
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.Signal(n))
	case "fault":
		kinds := []fault.Kind{fault.Internal, fault.Invalid, fault.NotFound, fault.Busy, fault.Canceled, fault.Unsupported}
		i := slices.IndexFunc(kinds, func(k fault.Kind) bool { return k.String() == text })
		return fault.New(kinds[i], errors.New("the cause"), "the message")
	default:
		run.Stdout += "? " + word + " " + text + "\n"
	}
	return nil
}

// A fakeModel answers everything with the same code.
type fakeModel string

func (m fakeModel) Name() string { return "fake/model" }

func (m fakeModel) Complete(context.Context, llm.Request) (*llm.Response, error) {
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: "~~~python\n" + string(m) + "\n~~~"}, Usage: llm.Usage{Input: 50, Output: 5, Estimated: true}}, nil
}

func (a *fakeApp) Model() llm.Model {
	if text := os.Getenv("FAKE_MODEL"); text != "" {
		return fakeModel(text)
	}
	return nil
}

func (a *fakeApp) OpenFile(_ context.Context, _, uri string) (chat.File, io.ReadCloser, error) {
	text, ok := a.files[uri]
	if !ok {
		return chat.File{}, nil, fault.New(fault.NotFound, nil, "there is no such file")
	}
	return chat.File{}, io.NopCloser(strings.NewReader(text)), nil
}

func (a *fakeApp) PutFile(_ context.Context, _, chatID, name string, r io.Reader) (string, error) {
	if chatID != "" && !a.begun {
		return "", fault.New(fault.NotFound, nil, "there is no chat with this chat_id")
	}
	text, err := io.ReadAll(r)
	a.begun = true
	a.uploads = append(a.uploads, fmt.Sprintf("%s: %s", name, strings.TrimSpace(string(text))))
	return fakeID, err
}

func (a *fakeApp) Serve(ctx context.Context, ready func(mcpURL, adminURL string)) error {
	ready("http://127.0.0.1:41234/mcp", os.Getenv("FAKE_ADMIN"))
	if n, err := strconv.Atoi(os.Getenv("FAKE_SIGNAL")); err == nil {
		if err := syscall.Kill(os.Getpid(), syscall.Signal(n)); err != nil {
			return err
		}
	} else {
		return errors.New("listen on 127.0.0.1:8000: address already in use")
	}
	<-ctx.Done()
	return nil
}

func (a *fakeApp) ServeStdio(_ context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := fmt.Fprintf(out, "{%q}\n", lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (a *fakeApp) Close() error {
	if os.Getenv("FAKE_CLOSE") != "" {
		return errors.New("a mount is left")
	}
	a.log.Debug("closed")
	return nil
}
