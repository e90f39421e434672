package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/store"
	"runpython/internal/store/content"
)

// listedFiles is how many changed files a reply names.
const listedFiles = 50

// uriScheme begins the URIs of files.
const uriScheme = "runpython://chats/"

// fileURI names a file of a chat. The path's bytes are percent-encoded.
func fileURI(id, name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return uriScheme + id + "/files/" + strings.Join(parts, "/")
}

func resultURI(id string, turn int, name string) string {
	return uriScheme + id + "/results/" + strconv.Itoa(turn) + "/" + url.PathEscape(name)
}

// lookUp finds the record that a URI of owner names.
func (s *Service) lookUp(ctx context.Context, owner, uri string) (store.File, error) {
	rest, ok := strings.CutPrefix(uri, uriScheme)
	id, rest, found := strings.Cut(rest, "/")
	kind, name, named := strings.Cut(rest, "/")
	if !ok || !found || !named {
		return store.File{}, store.ErrNotFound
	}
	if _, err := s.find(ctx, owner, id); err != nil {
		return store.File{}, err
	}
	switch kind {
	case "files":
		plain, err := url.PathUnescape(name)
		if err != nil {
			return store.File{}, store.ErrNotFound
		}
		f, err := s.options.Store.File(ctx, id, plain)
		if err == nil && f.Hash == "" {
			err = store.ErrNotFound
		}
		return f, err //nolint:wrapcheck // ErrNotFound or the store's own words
	case "results":
		number, plain, _ := strings.Cut(name, "/")
		n, err := strconv.Atoi(number)
		if err != nil {
			return store.File{}, store.ErrNotFound
		}
		return s.options.Store.Result(ctx, id, n, plain) //nolint:wrapcheck // as above
	}
	return store.File{}, store.ErrNotFound
}

// keepFiles fetches what the run has changed in /work and keeps it.
func (t *turn) keepFiles(ctx context.Context, r *kernel.Result) error {
	if r.Files == nil || r.Lost {
		return nil
	}
	wanted, deleted, err := t.differences(ctx, r.Files)
	if err != nil {
		return err
	}
	kept, err := t.fetch(ctx, wanted)
	if err != nil {
		return fmt.Errorf("keep the files of a run: %w", err)
	}
	if err := t.service.options.Store.SaveFiles(ctx, t.chat.id, kept, deleted); err != nil {
		return fmt.Errorf("keep the files of a run: %w", err)
	}
	for i, f := range kept[:min(len(kept), listedFiles)] {
		t.reply.Files = append(t.reply.Files, File{
			Path: strings.ToValidUTF8(f.Path, "\uFFFD"), URI: fileURI(t.chat.id, f.Path), MIMEType: f.MIMEType, Size: f.Size,
			Skipped: skipped(wanted[i], f),
		})
	}
	if more := len(kept) - listedFiles; more > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d more files were made or changed", more))
	}
	if r.Files.Over {
		r.Notes = append(r.Notes, fmt.Sprintf("there are more than %d files in /work: only those were looked at; delete some", t.service.options.Limits.WorkFiles))
	}
	return nil
}

// differences compares a report with what is kept: the entries to fetch and the paths that are gone.
func (t *turn) differences(ctx context.Context, report *kernel.FileReport) ([]kernel.FileEntry, []string, error) {
	known, err := t.service.options.Store.Files(ctx, t.chat.id)
	if err != nil {
		return nil, nil, fmt.Errorf("look up the files of a chat: %w", err)
	}
	stamps := make(map[string]string, len(known))
	for _, f := range known {
		stamps[f.Path] = f.Stamp
	}
	var wanted []kernel.FileEntry
	deleted := report.Deleted
	for _, e := range report.Changed {
		if stamp, there := stamps[e.Path]; !there || stamp != e.Stamp {
			wanted = append(wanted, e)
		}
		delete(stamps, e.Path)
	}
	if report.Full {
		for p := range stamps {
			deleted = append(deleted, p)
		}
	}
	return wanted, deleted, nil
}

func skipped(e kernel.FileEntry, f store.File) string {
	switch e.Kind {
	case "file":
		if f.Hash == "" {
			return "it could not be read"
		}
		return ""
	case "link":
		return "a symbolic link is not followed"
	default:
		return "a " + e.Kind + " has no content"
	}
}

// fetch gets the content of regular files out of the interpreter. The result has an entry for each of wanted.
func (t *turn) fetch(ctx context.Context, wanted []kernel.FileEntry) ([]store.File, error) {
	files := make([]store.File, len(wanted))
	var paths []string
	var index []int
	for i, e := range wanted {
		files[i] = store.File{Path: e.Path, Size: e.Size, Stamp: e.Stamp}
		if e.Kind == "file" {
			paths, index = append(paths, e.Path), append(index, i)
		}
	}
	if len(paths) == 0 {
		return files, nil
	}
	var draft *content.Draft
	begin := func() (err error) {
		if draft == nil {
			draft, err = t.service.options.Content.New()
		}
		return err
	}
	sink := func(_ int, data []byte) error {
		if err := begin(); err != nil {
			return err
		}
		_, err := draft.Write(data)
		return err
	}
	end := func(i int, problem string) error {
		if err := begin(); err != nil {
			return err
		}
		done := draft
		draft = nil
		if problem != "" {
			return done.Discard()
		}
		return keep(done, &files[index[i]])
	}
	err := t.chat.kernel.Get(ctx, paths, t.service.options.Limits.WorkBytes, sink, end)
	if draft != nil {
		err = errors.Join(err, draft.Discard())
	}
	if err != nil {
		return nil, diskFull(err)
	}
	return files, nil
}

// diskFull says what to do when the server's disk is full.
func diskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.New(fault.Busy, err, "the server's disk is full: the files of this run could not be kept; tell the operator")
	}
	return err
}

// keep ends a draft and fills in the record of its file.
func keep(d *content.Draft, f *store.File) error {
	start := d.Start()
	hash, size, err := d.Keep()
	if err != nil {
		return err
	}
	f.Hash, f.Size, f.MIMEType = hash, size, mimeType(f.Path, start)
	return nil
}

// commonType knows the types that matter here and that not every host's tables have.
func commonType(ext string) string {
	switch ext {
	case ".csv":
		return "text/csv"
	case ".md":
		return "text/markdown"
	case ".py":
		return "text/x-python"
	case ".json":
		return "application/json"
	case ".ipynb":
		return "application/x-ipynb+json"
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".txt", ".log":
		return "text/plain"
	case ".npy", ".npz", ".pkl", ".db", ".sqlite":
		return "application/octet-stream"
	}
	return ""
}

// mimeType tells the type of a file by its name, else by its first bytes.
func mimeType(name string, start []byte) string {
	ext := strings.ToLower(path.Ext(name))
	for _, t := range []string{commonType(ext), mime.TypeByExtension(ext), http.DetectContentType(start)} {
		if media, _, err := mime.ParseMediaType(t); err == nil {
			return media
		}
	}
	return "application/octet-stream"
}

// keepResults keeps the pictures in full, and output that the text will not show in full.
func (t *turn) keepResults(ctx context.Context, r *kernel.Result) error {
	for i, picture := range r.Images {
		name := fmt.Sprintf("figure-%d.%s", i+1, strings.TrimPrefix(picture.MIMEType, "image/"))
		f, err := t.keepResult(ctx, name, picture.MIMEType, picture.Data)
		if err != nil {
			return err
		}
		t.reply.Images = append(t.reply.Images, Image{
			Name: name, MIMEType: picture.MIMEType, Data: picture.Data, Width: picture.Width, Height: picture.Height, URI: f.URI,
		})
	}
	for _, stream := range []struct {
		name string
		out  kernel.Output
	}{{"stdout.txt", r.Stdout}, {"stderr.txt", r.Stderr}} {
		if stream.out.Len() <= shownStream {
			continue
		}
		f, err := t.keepResult(ctx, stream.name, "text/plain", []byte(stream.out.Text(2*keptStream)))
		if err != nil {
			return err
		}
		t.reply.Files = append(t.reply.Files, f)
	}
	return nil
}

// keptStream is what the kernel keeps of a stream at the most.
const keptStream = 1 << 20

func (t *turn) keepResult(ctx context.Context, name, media string, data []byte) (File, error) {
	hash, size, err := t.service.options.Content.Put(bytes.NewReader(data))
	if err != nil {
		return File{}, diskFull(err)
	}
	record := store.File{Path: name, Hash: hash, Size: size, MIMEType: media}
	if err := t.service.options.Store.SaveResult(ctx, t.chat.id, t.chat.turns, record); err != nil {
		return File{}, fmt.Errorf("keep a result: %w", err)
	}
	return File{Path: name, URI: resultURI(t.chat.id, t.chat.turns, name), MIMEType: media, Size: size, Result: true}, nil
}

// fill puts the chat's files into the folder that becomes /work of a new interpreter.
func (t *turn) fill(ctx context.Context, dir string) error {
	files, err := t.service.options.Store.Files(ctx, t.chat.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // a chat that begins
	}
	if err != nil {
		return fmt.Errorf("look up the files of a chat: %w", err)
	}
	for _, f := range files {
		if f.Hash == "" {
			continue
		}
		// Paths were checked when they came; a folder of ours cannot be left by them.
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := makeFolders(dir, filepath.Dir(name)); err != nil {
			return fmt.Errorf("put the files of a chat into place: %w", err)
		}
		if err := t.service.options.Content.Copy(f.Hash, name); err != nil {
			return fmt.Errorf("put the files of a chat into place: %w", err)
		}
	}
	return nil
}

// makeFolders makes folder and those above it up to dir, writable for the guest's user, who is
// nobody on the host: dir itself is in a folder that is closed to others.
func makeFolders(dir, folder string) error {
	if folder == dir || len(folder) <= len(dir) {
		return nil
	}
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := makeFolders(dir, filepath.Dir(folder)); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	return os.Chmod(folder, 0o777)
}

// PutFile writes a file into /work of a chat of owner: at once when its
// interpreter lives, else with its next start. chatID "" begins a chat, whose id is returned.
func (s *Service) PutFile(ctx context.Context, owner, chatID, name string, r io.Reader) (id string, err error) {
	if !plainPath(name) {
		return "", fault.New(fault.Invalid, nil, "the name of an uploaded file must be a relative path without . and ..")
	}
	c, err := s.open(ctx, Request{Owner: owner, ChatID: chatID})
	if errors.Is(err, store.ErrNotFound) {
		return "", fault.New(fault.NotFound, nil, "there is no chat with this chat_id")
	}
	if err != nil {
		return "", err
	}
	if err := c.enter(ctx); err != nil {
		return "", err
	}
	defer c.leave()
	if err := s.upload(ctx, c, name, r); err != nil {
		if chatID == "" {
			s.drop(c)
		}
		return "", err
	}
	return c.id, nil
}

func (s *Service) upload(ctx context.Context, c *conversation, name string, r io.Reader) error {
	draft, err := s.options.Content.New()
	if err != nil {
		return diskFull(err)
	}
	n, err := io.Copy(draft, io.LimitReader(r, s.options.Limits.WorkBytes+1))
	if err == nil && n > s.options.Limits.WorkBytes {
		err = fault.New(fault.Invalid, nil, fmt.Sprintf("the file is larger than /work may be (%d bytes, --work-size)", s.options.Limits.WorkBytes))
	}
	if err != nil {
		return errors.Join(diskFull(err), draft.Discard())
	}
	f := store.File{Path: name}
	if err := keep(draft, &f); err != nil {
		return diskFull(err)
	}
	record := store.Chat{ID: c.id, Owner: c.owner, Created: c.begun, Used: c.begun, Turns: c.turns}
	if err := s.options.Store.SaveChat(ctx, record); err != nil {
		return fmt.Errorf("save the chat: %w", err)
	}
	if c.kernel != nil && !c.kernel.Lost() {
		if err := s.putLive(ctx, c, f); err != nil {
			return err
		}
	}
	if err := s.options.Store.SaveFiles(ctx, c.id, []store.File{f}, nil); err != nil {
		return fmt.Errorf("keep an uploaded file: %w", err)
	}
	return nil
}

// putLive hands a kept file to the living interpreter.
func (s *Service) putLive(ctx context.Context, c *conversation, f store.File) error {
	body, err := s.options.Content.Open(f.Hash)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	problem, err := c.kernel.Put(ctx, f.Path, body)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if problem != "" {
		return fault.New(fault.Invalid, nil, "the file could not be written into /work: "+problem)
	}
	return nil
}

// plainPath reports whether p stays in the folder it is relative to.
func plainPath(p string) bool {
	if p == "" || len(p) > 1024 || strings.ContainsRune(p, 0) {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
