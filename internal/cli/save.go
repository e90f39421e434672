package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"runpython/internal/chat"
	"runpython/internal/config"
)

const (
	// outputFolder is where chats get folders of their own when --output is not given.
	outputFolder = "runpython-files"
	// saveTime bounds saving, which goes on when the run was interrupted.
	saveTime = 5 * time.Minute
	// maxTries bounds the numbers that are tried for a name that is taken.
	maxTries = 1000
	// notSaved is told in place of a path; the reason is an error of its own.
	notSaved = "could not be saved"
)

// A saver puts pictures and files of a chat below a folder. It never overwrites: a
// name that is taken, in capitals or not, gets a number.
type saver struct {
	app    App
	output string          // the folder, or "" for the default
	taken  map[string]bool // names used, in lower case, for file systems that do not tell them apart
}

func newSaver(app App, output string) *saver {
	return &saver{app: app, output: output, taken: make(map[string]bool)}
}

// saved says where the images and files of a reply went, in their order.
type saved struct {
	images []place
	files  []place
}

// A place is where one thing was saved, or why it was not.
type place struct {
	name    string // as the reply has it
	path    string
	skipped string
	size    int64
}

// lines are the places as text, one a line.
func (s saved) lines() []string {
	var lines []string
	for _, p := range append(append([]place(nil), s.images...), s.files...) {
		if p.path == "" {
			lines = append(lines, fmt.Sprintf("not saved: %s (%s)", p.name, p.skipped))
			continue
		}
		lines = append(lines, fmt.Sprintf("saved: %s (%s)", p.path, shortSize(p.size)))
	}
	return lines
}

// shortSize writes bytes in at most four digits.
func shortSize(bytes int64) string {
	const step = 1024
	value, unit := float64(bytes), 0
	for value >= step && unit < 3 {
		value /= step
		unit++
	}
	if unit == 0 {
		return config.FormatSize(bytes)
	}
	return fmt.Sprintf("%.1f%ciB", value, " KMG"[unit])
}

// An item is one thing to save.
type item struct {
	at   *place
	open func(context.Context) (io.ReadCloser, error)
}

// items lists what of a reply can be saved, and where result tells of it.
func (s *saver) items(reply *chat.Reply, result saved) []item {
	var items []item
	for i, p := range reply.Images {
		result.images[i] = place{name: p.Name, size: int64(len(p.Data))}
		items = append(items, item{&result.images[i], func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(p.Data)), nil
		}})
	}
	for i, f := range reply.Files {
		result.files[i] = place{name: f.Path, size: f.Size, skipped: f.Skipped}
		if f.Skipped != "" {
			continue
		}
		items = append(items, item{&result.files[i], func(ctx context.Context) (io.ReadCloser, error) {
			_, body, err := s.app.OpenFile(ctx, "", f.URI)
			return body, err
		}})
	}
	return items
}

// save saves what a reply has. What cannot be saved is a place without a path and
// part of the error; the rest is saved all the same.
func (s *saver) save(ctx context.Context, reply *chat.Reply) (saved, error) {
	result := saved{images: make([]place, len(reply.Images)), files: make([]place, len(reply.Files))}
	items := s.items(reply, result)
	if len(items) == 0 {
		return result, nil
	}
	folder := s.output
	if folder == "" {
		folder = filepath.Join(outputFolder, safeName(reply.ChatID))
	}
	root, err := openFolder(folder)
	if err != nil {
		for _, it := range items {
			it.at.skipped = notSaved
		}
		return result, fmt.Errorf("save files: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	var errs []error
	for _, it := range items {
		name, err := s.write(ctx, root, it)
		if err != nil {
			it.at.skipped = notSaved
			errs = append(errs, fmt.Errorf("save %q: %w", it.at.name, err))
			continue
		}
		it.at.path = filepath.Join(folder, filepath.FromSlash(name))
	}
	return result, errors.Join(append(errs, root.Close())...)
}

// openFolder makes a folder and opens it. Nothing that is then done in it can leave
// it, whatever links lie there.
func openFolder(folder string) (*os.Root, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(folder)
}

// write creates a file of a name near that of the item and fills it. It leaves nothing
// when it fails.
func (s *saver) write(ctx context.Context, root *os.Root, it item) (name string, err error) {
	body, err := it.open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // only read from
	f, name, err := s.create(root, safePath(it.at.name))
	if err != nil {
		return "", err
	}
	n, err := io.Copy(f, io.LimitReader(body, it.at.size+1))
	if err == nil && n != it.at.size {
		err = fmt.Errorf("it does not have the %d bytes that were told", it.at.size)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, root.Remove(name))
	}
	return name, nil
}

// create makes a new file of that name, or with a number if the name is taken.
func (s *saver) create(root *os.Root, wanted string) (f *os.File, name string, err error) {
	dir := path.Dir(wanted)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		dir = "." // a file is in the way, or a link: do without the folders
		wanted = strings.ReplaceAll(wanted, "/", "_")
	}
	ext := path.Ext(wanted)
	stem := strings.TrimSuffix(path.Base(wanted), ext)
	for i := 1; i <= maxTries; i++ {
		name = path.Join(dir, stem+ext)
		if i > 1 {
			name = path.Join(dir, fmt.Sprintf("%s-%d%s", stem, i, ext))
		}
		if s.taken[strings.ToLower(name)] {
			continue
		}
		f, err = root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			s.taken[strings.ToLower(name)] = true
		}
		return f, name, err
	}
	return nil, "", fmt.Errorf("%d files of that name are there already", maxTries)
}
