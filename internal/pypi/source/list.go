package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runpython/internal/pattern"
)

// Bounds of the list of a project's files.
const (
	maxPage       = 32 << 20 // bytes of one page
	maxListed     = 50_000   // files
	maxAttributes = 20       // of a link
)

// pageTypes are the media types of lists of files: PEP 691, then PEP 503.
const pageTypes = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"

// A Listed is one file of a project, as an index lists it. All of it is hostile.
type Listed struct {
	File           string
	URL            string // absolute; without credentials
	SHA256         string // "" when the index does not say
	Bytes          int64  // 0 when the index does not say
	RequiresPython string
	Yanked         bool
	Uploaded       time.Time // zero when the index does not say
}

// List returns the files that the sources have of a project, whose name is normalised: those
// of folders and pages of wheels, where all files are anybody's, then those of the first index
// that knows the project. Like uv, it asks no further index when one does not answer: a
// public project must not take the place of a private one.
func (d *Downloader) List(ctx context.Context, project string) ([]Listed, error) {
	all, err := d.listLinks(ctx)
	if err != nil {
		return nil, err
	}
	indexes := d.sources.extra
	if d.sources.index != nil {
		indexes = append(slices.Clip(indexes), d.sources.index)
	}
	for _, u := range indexes {
		list, err := d.listPage(ctx, strings.TrimSuffix(bare(u), "/")+"/"+project+"/")
		if status, ok := errors.AsType[*StatusError](err); ok && status.Code == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the files of %s: %w", project, err)
		}
		return append(all, list...), nil
	}
	return all, nil
}

// listLinks returns the files of folders and pages of wheels.
func (d *Downloader) listLinks(ctx context.Context) ([]Listed, error) {
	var all []Listed
	for _, link := range d.sources.findLinks {
		if !filepath.IsAbs(link) {
			list, err := d.listPage(ctx, link)
			if err != nil {
				return nil, fmt.Errorf("read a page of wheels: %w", err)
			}
			all = append(all, list...)
			continue
		}
		entries, err := os.ReadDir(link)
		if err != nil {
			return nil, fmt.Errorf("read a folder of wheels: %w", err)
		}
		for _, e := range entries {
			address := url.URL{Scheme: "file", Path: filepath.Join(link, e.Name())}
			all = append(all, Listed{File: e.Name(), URL: address.String()})
		}
	}
	return all[:min(len(all), maxListed)], nil
}

// listPage reads one page in either form.
func (d *Downloader) listPage(ctx context.Context, address string) ([]Listed, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of a list of files is no URL")
	}
	var text bytes.Buffer
	if _, err := d.Get(ctx, address, pageTypes, &text, maxPage); err != nil {
		return nil, err
	}
	return readPage(base, bytes.TrimSpace(text.Bytes()))
}

// readPage reads the text of a page, in the form that it has, whatever was asked for.
func readPage(base *url.URL, page []byte) ([]Listed, error) {
	if len(page) > 0 && page[0] == '{' {
		return listJSON(base, page)
	}
	return listHTML(base, string(page)), nil
}

// absolute returns an address of a page as a whole, without what is not to be kept of it.
func absolute(base *url.URL, address string) (u *url.URL, ok bool) {
	u, err := base.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	u.User = nil
	return u, true
}

// fileJSON is a file of a page of PEP 691.
type fileJSON struct {
	Filename string
	URL      string
	Hashes   struct {
		SHA256 string `json:"sha256"`
	}
	Size           int64
	RequiresPython string `json:"requires-python"`
	Yanked         json.RawMessage
	UploadTime     string `json:"upload-time"`
}

// isYanked reports whether the file was withdrawn: true, or the reason.
func (f fileJSON) isYanked() bool {
	switch string(f.Yanked) {
	case "", "null", "false":
		return false
	}
	return true
}

// filesJSON is the list of such a page.
type filesJSON []fileJSON

// UnmarshalJSON reads the first maxListed files, so that a page of many empty ones does not become
// many times as large in memory.
func (l *filesJSON) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errors.Join(err, errors.New("its files are no list"))
	}
	for len(*l) < maxListed && d.More() {
		var f fileJSON
		if err := d.Decode(&f); err != nil {
			return err
		}
		*l = append(*l, f)
	}
	return nil
}

// listJSON reads a page of PEP 691.
func listJSON(base *url.URL, page []byte) ([]Listed, error) {
	var list struct{ Files filesJSON }
	if err := json.Unmarshal(page, &list); err != nil {
		return nil, fmt.Errorf("the index does not speak JSON (PEP 691): %w", err)
	}
	var all []Listed
	for _, f := range list.Files {
		u, ok := absolute(base, f.URL)
		if !ok {
			continue
		}
		u.Fragment = ""
		uploaded, err := time.Parse(time.RFC3339, f.UploadTime)
		if err != nil {
			uploaded = time.Time{} // as good as none
		}
		all = append(all, Listed{
			File: f.Filename, URL: u.String(), SHA256: strings.ToLower(f.Hashes.SHA256), Bytes: max(0, f.Size),
			RequiresPython: f.RequiresPython, Yanked: f.isYanked(), Uploaded: uploaded,
		})
	}
	return all, nil
}

// The parts of a page of PEP 503.
var (
	anchor    = pattern.New(`(?is)<a\s([^>]+)>`)
	attribute = pattern.New(`(?is)([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?`)
	digest    = pattern.New(`(?:^|&)sha256=([0-9A-Fa-f]{64})`)
)

// listHTML reads the links of a page; what is none is passed over. Such pages tell neither
// sizes nor times.
func listHTML(base *url.URL, page string) []Listed {
	var all []Listed
	for _, a := range anchor().FindAllStringSubmatch(page, maxListed) {
		attributes := map[string]string{}
		for _, m := range attribute().FindAllStringSubmatch(a[1], maxAttributes) {
			attributes[strings.ToLower(m[1])] = html.UnescapeString(m[2] + m[3] + m[4])
		}
		u, ok := absolute(base, attributes["href"])
		if !ok || attributes["href"] == "" {
			continue
		}
		f := Listed{File: path.Base(u.Path), RequiresPython: attributes["data-requires-python"]}
		if m := digest().FindStringSubmatch(u.Fragment); m != nil {
			f.SHA256 = strings.ToLower(m[1])
		}
		_, f.Yanked = attributes["data-yanked"]
		u.Fragment = ""
		f.URL = u.String()
		all = append(all, f)
	}
	return all
}
