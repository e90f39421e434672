package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runpython/internal/chat"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/store"
	"runpython/internal/store/content"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

// fake is an interpreter whose programs are words: "set x" keeps x, "get x" fails
// unless it was kept in this interpreter, "wait" ends when the test releases it or the call is
// stopped, "ask PROMPT" asks and gives the answer, "hang" only when the interpreter is closed, "crash" ends the interpreter, "lose" the
// sandbox, "file NAME TEXT" writes a file, "files NAMES" reports files as a hostile guest may,
// "cut NAME" reports one and that there are more, "delete NAME" one that is gone, "picture TEXT"
// shows one, "notcode NAME" is no code but finds a file, "import NAMES" asks for those that its
// environment does not have, and fails for the first that is not there then, "dynamic NAME" does not ask, "fresh NAME" writes
// a file of another name each time, "once NAME" fails but the first time, "ls" lists the files, "show NAME" has one as its value.
type fake struct {
	world *world
	names map[string]bool
	files map[string]string

	environment string
	preloaded   bool
	lost        atomic.Bool
	end         chan struct{} // closed by Close
}

// world is what the interpreters of one test share.
type world struct {
	release  chan struct{}
	running  atomic.Int32
	most     atomic.Int32 // that ran at once
	root     *os.Root     // folders of the interpreters
	packages bool         // interpreters have environments
	ahead    []string     // modules that interpreters have preloaded, unless a plain one is asked for

	names atomic.Int32 // that were given
	seen  sync.Map     // words of "once"

	checkpoints atomic.Int32          // that were made
	refuse      atomic.Bool           // none can be made
	asleep      func()                // called while one is made, if not nil
	against     atomic.Pointer[error] // why none can be made beside a chat
	disturbed   atomic.Int32          // how often that was so

	mu      sync.Mutex
	started int
	closed  int
	living  int
	peak    int // of living
}

// next returns a name that was not given yet.
func (w *world) next() string { return fmt.Sprint(w.names.Add(1)) }

// start gives an interpreter the files that fill puts into its folder.
func (w *world) start(_ context.Context, start chat.Start, fill func(string) error) (chat.Interpreter, error) {
	w.mu.Lock()
	w.started++
	w.living++
	w.peak = max(w.peak, w.living)
	name := fmt.Sprint(w.started)
	w.mu.Unlock()
	f := &fake{world: w, names: map[string]bool{}, files: map[string]string{}, end: make(chan struct{}), preloaded: !start.Plain && len(w.ahead) > 0}
	err := w.root.Mkdir(name, 0o700)
	if err == nil && w.packages {
		f.environment = filepath.Join(w.root.Name(), name+"-env")
		err = os.Mkdir(f.environment, 0o700)
	}
	if err == nil {
		err = fill(filepath.Join(w.root.Name(), name))
	}
	if err == nil {
		err = f.look(filepath.Join(w.root.Name(), name))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *fake) look(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		f.files[strings.TrimPrefix(name, dir+"/")] = string(data)
		return err
	})
}

// ask recovers a panic, as the kernel does.
func (f *fake) ask(ctx context.Context, r kernel.Request, prompt string) (a kernel.Answer) {
	defer func() {
		if recover() != nil {
			a = kernel.Answer{Outcome: kernel.Unasked}
		}
	}()
	return r.Ask(ctx, kernel.Question{Prompt: prompt})
}

func (f *fake) Run(ctx context.Context, r kernel.Request) (*kernel.Result, error) {
	if f.lost.Load() {
		return nil, errors.New("the guest has ended")
	}
	w := f.world
	n := w.running.Add(1)
	defer w.running.Add(-1)
	for most := w.most.Load(); n > most && !w.most.CompareAndSwap(most, n); most = w.most.Load() {
	}
	result := &kernel.Result{Status: kernel.OK, Duration: time.Millisecond}
	code := strings.TrimSpace(r.Candidates[0].Code)
	code = code[strings.LastIndexByte(code, '\n')+1:] // below lines that ask for packages
	word, rest, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(code, "do('"), "')")), " ")
	switch word {
	case "set":
		f.names[rest] = true
	case "get":
		if !f.names[rest] {
			result.Status, result.Error = kernel.Failed, &kernel.Exception{Type: "NameError", Traceback: "NameError: " + rest}
			break
		}
		result.Value = &kernel.Value{Text: rest}
	case "wait":
		select {
		case <-w.release:
		case <-ctx.Done():
			result.Status = kernel.Canceled
		}
	case "ask":
		if r.Ask == nil {
			result.Status, result.Error = kernel.Failed, &kernel.Exception{Type: "EOFError", Traceback: "EOFError"}
			break
		}
		a := f.ask(ctx, r, rest)
		result.Value = &kernel.Value{Text: string(a.Outcome) + " " + a.Text}
		if ctx.Err() != nil {
			result.Status = kernel.Canceled
		}
	case "hang":
		<-f.end
		return nil, errors.New("the guest has ended")
	case "crash":
		f.names = map[string]bool{}
		result.Status, result.Signal, result.Reset = kernel.Crashed, "SIGSEGV", true
	case "lose":
		f.lost.Store(true)
		result.Status, result.Reset, result.Lost = kernel.Memory, true, true
	case "file":
		name, text, _ := strings.Cut(rest, " ")
		f.files[name] = text
		result.Files = &kernel.FileReport{Total: len(f.files), Changed: []kernel.FileEntry{{Path: name, Size: int64(len(text)), Kind: "file", Stamp: text}}}
	case "fresh": // a file of another name each time
		f.files[rest+w.next()] = "new"
		result.Files = &kernel.FileReport{Changed: []kernel.FileEntry{{Path: rest + fmt.Sprint(w.names.Load()), Size: 3, Kind: "file", Stamp: "1"}}}
	case "once": // fails but the first time
		if _, again := w.seen.LoadOrStore(rest, true); again {
			result.Status, result.Error = kernel.Failed, &kernel.Exception{Type: "NameError", Traceback: "NameError: " + rest}
		}
	case "show":
		result.Value = &kernel.Value{Text: f.files[rest]}
	case "ls":
		result.Value = &kernel.Value{Text: strings.Join(slices.Sorted(maps.Keys(f.files)), " ")}
	case "link":
		result.Files = &kernel.FileReport{Total: 1, Changed: []kernel.FileEntry{{Path: rest, Kind: "link", Stamp: "1"}}}
	case "files":
		result.Files = &kernel.FileReport{}
		for name := range strings.FieldsSeq(rest) {
			f.files[name] = "of " + name
			result.Files.Changed = append(result.Files.Changed, kernel.FileEntry{Path: name, Size: int64(len(f.files[name])), Kind: "file", Stamp: "1"})
		}
	case "cut":
		f.files[rest] = rest
		result.Files = &kernel.FileReport{Over: true, Changed: []kernel.FileEntry{{Path: rest, Kind: "file", Stamp: "2"}}}
	case "delete":
		delete(f.files, rest)
		result.Files = &kernel.FileReport{Deleted: []string{rest}}
	case "picture":
		result.Images = []kernel.Image{{MIMEType: "image/png", Width: 1, Height: 1, Data: []byte(rest)}}
	case "import":
		if err := f.importAll(ctx, r, strings.Fields(rest), result); err != nil {
			f.lost.Store(true)
			return nil, err
		}
	case "dynamic": // an import that cannot be seen before the run
		return result, f.importAll(ctx, kernel.Request{}, []string{rest}, result)
	case "notcode":
		result.Status = kernel.NotCode
		if rest != "" {
			f.files[rest] = "late"
			result.Files = &kernel.FileReport{Changed: []kernel.FileEntry{{Path: rest, Size: 4, Kind: "file", Stamp: "1"}}}
		}
	}
	return result, nil
}

// importAll imports modules, after it has asked for those that are missing.
func (f *fake) importAll(ctx context.Context, r kernel.Request, modules []string, result *kernel.Result) error {
	missing := f.missing(modules)
	if len(missing) > 0 && r.Supply != nil {
		changed, err := r.Supply(ctx, missing)
		if err != nil {
			return err
		}
		result.Value = &kernel.Value{Text: "changed " + strings.Join(changed, " ")}
	} else if r.Installed {
		result.Value = &kernel.Value{Text: "told of " + strings.Join(r.Changed, " ")}
	}
	if ctx.Err() != nil {
		result.Status = kernel.Canceled
	} else if missing = f.missing(modules); len(missing) > 0 {
		text := "No module named '" + missing[0] + "'"
		result.Status, result.Error = kernel.Failed, &kernel.Exception{Type: "ModuleNotFoundError", Message: text, Traceback: "ModuleNotFoundError: " + text}
	}
	return nil
}

func (f *fake) missing(modules []string) []string {
	var missing []string
	for _, m := range modules {
		if f.preloaded && slices.Contains(f.world.ahead, m) {
			continue
		}
		if _, err := os.Stat(filepath.Join(f.environment, m)); f.environment == "" || err != nil {
			missing = append(missing, m)
		}
	}
	return missing
}

func (f *fake) Get(_ context.Context, paths []string, limit int64, sink func(int, []byte) error, end func(int, string) error) error {
	for i, p := range paths {
		if limit -= int64(len(f.files[p])); limit < 0 {
			return errors.New("more was asked for than may come")
		}
		if err := errors.Join(sink(i, []byte(f.files[p])), end(i, "")); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) Put(_ context.Context, path string, r io.Reader) (string, error) {
	data, err := io.ReadAll(r)
	f.files[path] = string(data)
	return "", err
}

func (f *fake) Remove(_ context.Context, paths []string) (int, error) {
	for _, p := range paths {
		delete(f.files, p)
	}
	return 0, nil
}

func (f *fake) Environment() string { return f.environment }

func (f *fake) Preloaded() bool { return f.preloaded }

func (f *fake) Lost() bool { return f.lost.Load() }

// Checkpoint keeps what the interpreter has, as JSON.
func (f *fake) Checkpoint(_ context.Context, dir string) error {
	w := f.world
	if w.asleep != nil {
		w.asleep()
	}
	if f.lost.Load() || w.refuse.Load() {
		return errors.New("no checkpoint can be made")
	}
	w.checkpoints.Add(1)
	text, err := json.Marshal(kept{f.names, f.files})
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "kept"), text, 0o600))
}

// CheckpointBeside is Checkpoint, of a world that may have something against it.
func (f *fake) CheckpointBeside(ctx context.Context, dir string) error {
	if against := f.world.against.Load(); against != nil {
		f.world.disturbed.Add(1)
		return *against
	}
	return f.Checkpoint(ctx, dir)
}

func (f *fake) Close() error {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	f.world.closed++
	f.world.living--
	close(f.end)
	return nil
}

// records opens a new database for the time of the test.
func records(t testing.TB) *database.Store {
	t.Helper()
	return storetest.Lasting[*database.Store](t)(sqlite.OpenMemory(t.Context()))
}

// contentIn opens a folder of files for the time of the test.
func contentIn(t testing.TB, dir string) *content.Store {
	t.Helper()
	return storetest.Lasting[*content.Store](t)(content.Open(t.Context(), dir))
}

func newService(t *testing.T, change func(*chat.Options)) (*chat.Service, *world) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{release: make(chan struct{}), root: root}
	o := chat.Options{
		Start: w.start, Store: records(t), Content: contentIn(t, t.TempDir()), Log: guesttest.Log(t),
		Limits: chat.Limits{RunTimeout: time.Minute, MemoryBytes: 1 << 30, WorkBytes: 1 << 20, WorkFiles: 10_000, Kernels: 100, Chats: 100, Idle: time.Hour, Keep: time.Hour},
	}
	if change != nil {
		change(&o)
	}
	s := chat.NewService(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := root.Close(); err != nil || w.started != w.closed {
			t.Errorf("%d interpreters were started, %d closed", w.started, w.closed)
		}
	})
	return s, w
}

// ask runs a turn of the local user; do wraps a word into code.
func ask(t *testing.T, s *chat.Service, id, word string) *chat.Reply {
	t.Helper()
	return send(t, s, id, do(word))
}

// send runs a turn with a message.
func send(t *testing.T, s *chat.Service, id, message string) *chat.Reply {
	t.Helper()
	reply, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: message})
	if err != nil {
		t.Fatalf("Turn(%q) = %v", message, err)
	}
	return reply
}

func do(word string) string { return "do('" + word + "')" }

// emptyStore knows no chat, and fails the test's process when it is asked for an id of another form.
type emptyStore struct{ chat.Store }

func (emptyStore) Chat(_ context.Context, id string) (store.Chat, error) {
	if len(id) != 26 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		panic("the store is asked for " + id)
	}
	return store.Chat{}, store.ErrNotFound
}
