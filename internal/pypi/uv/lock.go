package uv

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"runpython/internal/fault"
	"runpython/internal/pypi/wheel"
)

// maxPins bounds the wheels of one resolution.
const maxPins = 500

// toJSON is a program that turns the lock into JSON. The interpreter has a parser for
// TOML anyway.
const toJSON = "import json, sys, tomllib; json.dump(tomllib.load(sys.stdin.buffer), sys.stdout, default=str)"

// A lockFile is the part of a pylock.toml (PEP 751) that is used.
type lockFile struct {
	Packages []struct {
		Name    string
		Version string
		Wheels  []struct {
			Name   string
			URL    string
			Size   int64
			Hashes map[string]string
		}
	}
}

// A reader is the interpreter, started to read a lock. It begins beside uv, since either
// of them takes its time to begin. One of read and abandon ends it.
type reader struct {
	input *io.PipeWriter
	done  chan struct{} // closed when the next two are there
	out   output
	err   error
}

func (p *Program) startReader(ctx context.Context) *reader {
	in, input := io.Pipe()
	r := &reader{input: input, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.out, r.err = p.run(ctx, command{program: p.config.Python, args: []string{"-I", "-S", "-B", "-c", toJSON}, input: in})
		_ = in.Close() // so that nobody waits for it to read
	}()
	return r
}

// read returns a lock in JSON.
func (r *reader) read(lock []byte) ([]byte, error) {
	_, err := r.input.Write(lock)
	r.abandon()
	if r.err != nil {
		err = r.err
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w: %.200s", err, r.out.errors)
	}
	return r.out.text, nil
}

// abandon ends the input and waits for the interpreter's end.
func (r *reader) abandon() {
	_ = r.input.Close() // never fails
	<-r.done
}

// pins returns the wheels of a lock, and of those that are of the offer what they stand for.
func pins(lock []byte, offer Offer) ([]wheel.Pin, error) {
	var file lockFile
	if err := json.Unmarshal(lock, &file); err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	if len(file.Packages) > maxPins {
		return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("this needs %d packages, at most %d are installed", len(file.Packages), maxPins))
	}
	var all []wheel.Pin
	for _, pkg := range file.Packages {
		var wheels, sources []wheel.Pin
		for _, w := range pkg.Wheels {
			u, err := url.Parse(w.URL)
			if err != nil {
				return nil, fmt.Errorf("lock: the URL of a wheel of %s cannot be read", pkg.Name)
			}
			u.User = nil
			if p, ok := offered(offer, u); ok {
				sources = append(sources, p)
				continue
			}
			wheels = append(wheels, wheel.Pin{
				Name: pkg.Name, Version: pkg.Version, File: wheelName(w.Name, u), URL: u.String(),
				SHA256: strings.ToLower(w.Hashes["sha256"]), Bytes: w.Size,
			})
		}
		pin, ok := wheel.Best(wheels)
		if !ok && len(sources) > 0 {
			pin, ok = sources[0], true
		}
		if !ok {
			return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("%s has no wheel that can be installed", pkg.Name))
		}
		if err := pin.Check(); err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		all = append(all, pin)
	}
	slices.SortFunc(all, wheel.Compare)
	return all, nil
}

// offered returns what the wheel at u stands for, if it is of the offer. Its folder has a name
// of its own; the path before it may be another one, by links.
func offered(offer Offer, u *url.URL) (p wheel.Pin, ok bool) {
	if offer == nil || u.Scheme != "file" || path.Base(path.Dir(u.Path)) != path.Base(offer.Folder()) {
		return p, false
	}
	return offer.Pin(path.Base(u.Path))
}

// wheelName returns the name of a wheel: as the lock has it, or as its URL ends.
func wheelName(name string, u *url.URL) string {
	if name != "" {
		return name
	}
	return path.Base(u.Path)
}
