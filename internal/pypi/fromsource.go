package pypi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/sdist"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/uv"
	"runpython/internal/pypi/wheel"
)

// Bounds of resolving with source distributions.
const (
	maxOffers   = 20      // projects whose files are listed
	maxRounds   = 30      // questions to uv
	maxMetadata = 1 << 20 // bytes of METADATA
)

// builds reports whether this job may build source distributions.
func (j *job) builds() bool { return j.in.config.Guests != nil && !j.wheelsOnly }

// A sourceless is an error of uv because of packages that have no wheel.
type sourceless struct {
	none *uv.NoWheelError
	err  error
}

// fromSource resolves q with the source distributions of the packages that have no wheel. uv
// takes them for wheels which need nothing; those that it chooses are built, and uv is asked
// again, now that it can be told what they need, until it chooses none that is not built.
func (j *job) fromSource(ctx context.Context, key string, q uv.Query, first sourceless) (r uv.Resolution, err error) {
	offer, err := sdist.NewOffer(j.in.builds.dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, offer.Close()) }()
	program, err := j.in.program(ctx)
	if err != nil {
		return r, err
	}
	q.Offer = offer
	s := sourcing{job: j, offer: offer, before: q.Before, known: map[string]bool{}}
	if err := s.offerAll(ctx, first); err != nil {
		return r, err
	}
	for range maxRounds {
		r, err = program.Resolve(ctx, q)
		if none, ok := errors.AsType[*uv.NoWheelError](err); ok {
			err = s.offerAll(ctx, sourceless{none, err})
			if err == nil {
				continue
			}
		}
		if err != nil {
			return r, err
		}
		further, err := s.buildAll(ctx, r.Pins)
		if err != nil {
			return r, err
		}
		if !further {
			r.Untimed = r.Untimed || s.untimed
			return r, j.in.answers.put(key, r)
		}
	}
	return r, fault.New(fault.Invalid, nil, "these packages were not resolved: too many of them come as source only")
}

// A sourcing is what is known of source distributions in one resolution.
type sourcing struct {
	job     *job
	offer   *sdist.Offer
	before  time.Time
	listed  []string        // projects
	known   map[string]bool // digests of those that are built and described
	untimed bool
}

// offerAll offers the sources of the projects that e names. When that makes no difference its error
// is e's, or says that there is nothing to build.
func (s *sourcing) offerAll(ctx context.Context, e sourceless) error {
	more := false
	for _, name := range e.none.Names {
		list, err := s.list(ctx, name)
		if err != nil {
			return err
		}
		n, err := s.offerOne(ctx, name, list)
		if err != nil {
			return err
		}
		more = more || n > 0
	}
	switch {
	case more:
		return nil
	case e.none.SourceOnly: // uv's words are for a server that builds nothing
		return fault.New(fault.Invalid, e.err, fmt.Sprintf("nothing that fits of %s can be installed: it has no wheel, and its sources were withdrawn, have no digest, or are neither .tar.gz nor .zip", strings.Join(e.none.Names, ", ")))
	}
	return e.err
}

// offerNeeds offers the sources of what a built package needs, where that has no wheel at all:
// else an older version of the package, which does not need it, would be preferred.
func (s *sourcing) offerNeeds(ctx context.Context, metadata []byte) error {
	for line := range strings.Lines(string(metadata)) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "Requires-Dist:")
		if line = strings.TrimSpace(line); line == "" {
			break // what follows is a description
		}
		r, err := requirement.Parse(text)
		if !ok || err != nil || strings.Contains(r.Marker, "extra") {
			continue
		}
		list, err := s.list(ctx, r.Name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(f source.Listed) bool {
			n, err := wheel.ParseName(f.File)
			return err == nil && n.Name == r.Name && n.Fits(wheel.MinorVersion(s.job.in.config.PythonVersion))
		}) {
			continue
		}
		if _, err := s.offerOne(ctx, r.Name, list); err != nil {
			return err
		}
	}
	return nil
}

// list returns the files of a project that was not looked at before, nil otherwise.
func (s *sourcing) list(ctx context.Context, name string) ([]source.Listed, error) {
	if slices.Contains(s.listed, name) || len(s.listed) == maxOffers {
		return nil, nil
	}
	s.listed = append(s.listed, name)
	list, err := s.job.in.files.List(ctx, name)
	if err != nil {
		return nil, s.job.in.unlisted(name, err)
	}
	return list, nil
}

// offerOne offers the sources of a project and returns how many.
func (s *sourcing) offerOne(ctx context.Context, name string, list []source.Listed) (int, error) {
	in, err := s.job.in, error(nil)
	for i, f := range list {
		if f.SHA256 != "" || !strings.HasPrefix(f.URL, "file:") {
			continue
		}
		if _, ok := wheel.ParseSource(f.File, name); ok {
			if list[i].SHA256, err = in.digest(ctx, f.URL); err != nil {
				return 0, fmt.Errorf("read %s: %w", f.File, err)
			}
		}
	}
	candidates, untimed := sdist.Candidates(list, name, s.before)
	s.untimed = s.untimed || untimed
	for _, c := range candidates {
		if err := s.offer.Add(c); err != nil {
			return 0, err
		}
	}
	return len(candidates), nil
}

// unlisted words why the files of a project are not known.
func (in *Installer) unlisted(name string, err error) error {
	status, isStatus := errors.AsType[*source.StatusError](err)
	switch {
	case isStatus:
		return fault.New(fault.Unsupported, err, fmt.Sprintf("the sources of %s cannot be listed: the package index answers %d", name, status.Code))
	case errors.Is(err, source.ErrUnreachable):
		return fault.New(fault.Unsupported, err, fmt.Sprintf("the sources of %s cannot be listed: the package index cannot be reached, or broke off; try again later", name))
	}
	return err
}

// digest returns the SHA-256 of a file of a folder of wheels, which lists none; "" for one that
// is too large to be used.
func (in *Installer) digest(ctx context.Context, address string) (string, error) {
	h := sha256.New()
	_, err := in.files.Get(ctx, address, "", h, in.config.WheelBytes)
	if errors.Is(err, source.ErrTooLarge) {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// buildAll builds the sources among the pins, and reports whether one was not described yet.
func (s *sourcing) buildAll(ctx context.Context, pins []wheel.Pin) (further bool, err error) {
	if err := s.job.in.gate.Resolved(pins); err != nil {
		return false, err
	}
	for _, p := range pins {
		if !p.IsSource() || s.known[p.SHA256] {
			continue
		}
		h, err := s.job.built(ctx, p)
		if err != nil {
			return false, s.job.in.refused(p, err)
		}
		text, err := metadata(h)
		h.Close()
		if err != nil {
			return false, err
		}
		if err := s.offer.Describe(p, text); err != nil {
			return false, err
		}
		if err := s.offerNeeds(ctx, text); err != nil {
			return false, err
		}
		s.known[p.SHA256], further = true, true
	}
	return further, nil
}

// metadata returns the METADATA of a wheel.
func metadata(h *cache.Held) ([]byte, error) {
	i := slices.IndexFunc(h.Content.Files, func(f wheel.File) bool {
		top, rest, _ := strings.Cut(f.Path, "/")
		return strings.HasSuffix(top, ".dist-info") && rest == "METADATA"
	})
	if i < 0 {
		return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("%s is not installed: what its build made of its source has no METADATA", h.Content.Pin))
	}
	f, err := os.Open(filepath.Join(h.Tree, h.Content.Files[i].Path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	_, err = io.Copy(&text, io.LimitReader(f, maxMetadata))
	return text.Bytes(), err
}
