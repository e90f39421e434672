package chat

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"runpython/internal/fault"
	"runpython/internal/store"
)

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

func resultURI(id string, run int, name string) string {
	return uriScheme + id + "/results/" + strconv.Itoa(run) + "/" + url.PathEscape(name)
}

// lookUp finds the record that a URI of owner names.
func (s *Service) lookUp(ctx context.Context, owner, uri string) (store.File, error) {
	rest, ok := strings.CutPrefix(uri, uriScheme)
	id, rest, found := strings.Cut(rest, "/")
	kind, name, named := strings.Cut(rest, "/")
	if !ok || !found || !named {
		return store.File{}, store.ErrNotFound
	}
	if _, err := s.owned(ctx, owner, id); err != nil {
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
		plain, malformed := url.PathUnescape(plain)
		if err != nil || malformed != nil || strconv.Itoa(n) != number {
			return store.File{}, store.ErrNotFound
		}
		return s.options.Store.Result(ctx, id, n, plain) //nolint:wrapcheck // as above
	}
	return store.File{}, store.ErrNotFound
}

// OpenFile returns the content that a File's URI names. The caller closes it.
// An unknown URI and one of another owner are the same fault.NotFound.
func (s *Service) OpenFile(ctx context.Context, owner, uri string) (File, io.ReadSeekCloser, error) {
	f, err := s.lookUp(ctx, owner, uri)
	var body *os.File
	if err == nil {
		body, err = s.options.Content.Open(f.Hash)
	}
	// The content may have gone since the record was read.
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return File{}, nil, fault.New(fault.NotFound, nil, "there is no such file")
	}
	if err != nil {
		return File{}, nil, err
	}
	return File{
		Path: f.Path, URI: uri, MIMEType: f.MIMEType, Size: f.Size,
		Result: strings.HasPrefix(uri[len(uriScheme)+idLength:], "/results/"),
	}, body, nil
}
