// Package source knows where packages come from: indexes, folders of wheels, how they
// are reached and with which credentials.
//
// [Read] joins what the operator has set with the usual variables of uv and pip. Out
// of it come the environment of uv and an HTTP client, which so agree with each other.
//
// # Trust
//
// Settings and variables are the operator's. Answers of an index are hostile: they are
// bounded here and checked by whoever asked. Credentials go to the origin (scheme,
// host, port) that they were given for and nowhere else, also after a redirect; they
// are in no error, and [Sources.Redact] takes them out of what others print.
//
// # Failure
//
// A setting that cannot be used is an error of Read which names it. What an answer was
// is told by [StatusError], ErrTooLarge and ErrUnreachable.
package source

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"runpython/internal/pattern"
)

// Bounds of what is read from settings.
const (
	maxIndexes   = 16
	maxFindLinks = 64
	maxBundle    = 16 << 20
)

// defaultIndex is the index of PyPI, as pip and uv have it.
const defaultIndex = "https://pypi.org/simple/"

// Config is what the operator has set; variables fill what is empty.
type Config struct {
	IndexURL       string   // index that is asked last; "" is what variables say, else that of PyPI
	ExtraIndexURLs []string // asked before it, in this order
	FindLinks      []string // folders of wheels, or URLs of pages that link to some
	NoIndex        bool     // only FindLinks
	CABundle       string   // PEM file of the certificates to trust instead of the system's
	Environ        []string // variables of the process, "NAME=value"
}

// Sources is where packages come from. It does not change and is safe for concurrent
// use. Print it as you like: it shows no credentials.
type Sources struct {
	index     *url.URL // nil: none
	extra     []*url.URL
	findLinks []string // absolute folders, URLs
	noIndex   bool
	bundle    string // file, or ""
	roots     *x509.CertPool
	vars      variables

	// Warnings are for the operator's log: variables that are not followed.
	Warnings []string
}

// Read returns the sources of c, or an error that says which setting is wrong.
func Read(c Config) (*Sources, error) {
	s := &Sources{vars: readVariables(c.Environ)}
	err := s.readIndexes(c)
	if err == nil {
		err = s.readFindLinks(c)
	}
	if err == nil {
		err = s.readBundle(c)
	}
	if err != nil {
		return nil, err
	}
	if s.noIndex && len(s.findLinks) == 0 {
		return nil, errors.New("no index and no folder of wheels: set --index-url or --find-links, or --packages off")
	}
	return s, nil
}

func (s *Sources) readIndexes(c Config) (err error) {
	main := first(c.IndexURL, s.vars.get("UV_DEFAULT_INDEX"), s.vars.get("UV_INDEX_URL"), s.vars.get("PIP_INDEX_URL"), defaultIndex)
	s.noIndex = c.NoIndex || c.IndexURL == "" && isTrue(s.vars.get("PIP_NO_INDEX"))
	if s.noIndex {
		return nil
	}
	if s.index, err = s.parseIndex(main); err != nil {
		return err
	}
	extra := c.ExtraIndexURLs
	if len(extra) == 0 {
		extra = strings.Fields(first(s.vars.get("UV_INDEX"), s.vars.get("UV_EXTRA_INDEX_URL"), s.vars.get("PIP_EXTRA_INDEX_URL")))
	}
	if len(extra) > maxIndexes {
		return fmt.Errorf("%d extra indexes, at most %d", len(extra), maxIndexes)
	}
	for _, text := range extra {
		u, err := s.parseIndex(text)
		if err != nil {
			return err
		}
		s.extra = append(s.extra, u)
	}
	return nil
}

// indexName is a name before the URL of an index, as uv has it: "corp=https://…".
var indexName = pattern.New(`^([A-Za-z0-9_.-]+)=(.+)$`)

// parseIndex reads the URL of an index. The error does not show it, since it may hold a
// password.
func (s *Sources) parseIndex(text string) (*url.URL, error) {
	name := ""
	if m := indexName().FindStringSubmatch(text); m != nil {
		name, text = m[1], m[2]
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(text, " \t\r\n") {
		return nil, errors.New("the URL of a package index is not of the form https://HOST/PATH")
	}
	if u.User == nil && name != "" {
		prefix := "UV_INDEX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
		user, password := s.vars.get(prefix+"_USERNAME"), s.vars.get(prefix+"_PASSWORD")
		if user+password != "" {
			u.User = url.UserPassword(user, password)
		}
	}
	return u, nil
}

func (s *Sources) readFindLinks(c Config) error {
	set := c.FindLinks
	if len(set) == 0 {
		set = append(strings.Split(s.vars.get("UV_FIND_LINKS"), ","), strings.Fields(s.vars.get("PIP_FIND_LINKS"))...)
	}
	if len(set) > maxFindLinks {
		return fmt.Errorf("%d folders of wheels (--find-links), at most %d", len(set), maxFindLinks)
	}
	for _, text := range set {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
			u, err := s.parseIndex(text)
			if err != nil {
				return err
			}
			s.findLinks = append(s.findLinks, u.String())
			continue
		}
		dir, err := filepath.Abs(strings.TrimPrefix(text, "file://"))
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err == nil && strings.Contains(dir, ",") {
			err = errors.New("its name has a comma")
		}
		switch {
		case err == nil:
			s.findLinks = append(s.findLinks, dir)
		case len(c.FindLinks) > 0:
			return fmt.Errorf("folder of wheels (--find-links) %s: %w", text, err)
		default:
			s.Warnings = append(s.Warnings, fmt.Sprintf("a folder of wheels that a variable of uv or pip names is not used: %v", err))
		}
	}
	return nil
}

func (s *Sources) readBundle(c Config) error {
	s.bundle = first(c.CABundle, s.vars.get("SSL_CERT_FILE"), s.vars.get("PIP_CERT"), s.vars.get("REQUESTS_CA_BUNDLE"))
	if s.bundle == "" {
		return nil
	}
	info, err := os.Stat(s.bundle)
	if err == nil && info.Size() > maxBundle {
		err = fmt.Errorf("larger than %d bytes", maxBundle)
	}
	var pem []byte
	if err == nil {
		pem, err = os.ReadFile(s.bundle)
	}
	if err != nil {
		return fmt.Errorf("read certificates of the package index: %w", err)
	}
	s.roots = x509.NewCertPool()
	if !s.roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("certificates of the package index: %s has none in PEM form", s.bundle)
	}
	return nil
}

// Folders returns the local folders of wheels.
func (s *Sources) Folders() []string {
	return slices.DeleteFunc(slices.Clone(s.findLinks), func(l string) bool { return !filepath.IsAbs(l) })
}

// Key returns 64 hex digits that change whenever other packages may come out of s; a
// folder counts with the time of its last change.
func (s *Sources) Key() string {
	h := sha256.New()
	for _, u := range append([]*url.URL{s.index}, s.extra...) {
		fmt.Fprintf(h, "index %q\n", text(u))
	}
	fmt.Fprintf(h, "none %v\n", s.noIndex)
	for _, l := range s.findLinks {
		changed := ""
		if info, err := os.Stat(l); err == nil {
			changed = info.ModTime().UTC().String()
		}
		fmt.Fprintf(h, "links %q %s\n", l, changed)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// String describes the sources in one line, without credentials.
func (s *Sources) String() string {
	var parts []string
	for _, u := range s.extra {
		parts = append(parts, bare(u))
	}
	if s.index != nil {
		parts = append(parts, bare(s.index))
	}
	for _, l := range s.findLinks {
		parts = append(parts, s.Redact(l))
	}
	return strings.Join(parts, ", ")
}

// userinfo is what stands before the host in a URL.
var userinfo = pattern.New(`(://)[^/@\s]+@`)

// Redact takes credentials out of text that another program has written.
func (s *Sources) Redact(text string) string {
	text = userinfo().ReplaceAllString(text, "${1}***@")
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// minSecret keeps Redact from replacing every "a" when that is the password.
const minSecret = 4

func (s *Sources) secrets() []string {
	var all []string
	for _, u := range s.origins() {
		if password, ok := u.User.Password(); ok {
			all = append(all, password, url.QueryEscape(password), url.PathEscape(password))
		} else if u.User != nil {
			all = append(all, u.User.Username()) // a token alone
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecret })
}

// origins returns the URLs that may carry credentials.
func (s *Sources) origins() []*url.URL {
	var all []*url.URL
	if s.index != nil {
		all = append(all, s.index)
	}
	all = append(all, s.extra...)
	for _, l := range s.findLinks {
		if u, err := url.Parse(l); err == nil && u.Host != "" {
			all = append(all, u)
		}
	}
	return all
}

// bare returns u without credentials.
func bare(u *url.URL) string {
	c := *u
	c.User, c.RawQuery = nil, ""
	return c.String()
}

func text(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func isTrue(s string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on", "y", "t"}, strings.ToLower(s))
}
