package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"runpython/internal/check/files"
	"runpython/internal/check/probe"
)

const (
	maxObservations = 400      // of one endpoint that are kept
	maxStateBytes   = 64 << 20 // of its file
)

// A state is the file of one endpoint.
type state struct {
	Version      int           `json:"version"`
	Target       string        `json:"target"`
	Observations []Observation `json:"observations"`
}

// stateFile returns the file of an endpoint in a folder. The URL is not in its name, as it may have secrets.
func stateFile(dir, url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".json")
}

// Shown returns the URL of an endpoint without what may be secret in it. What is no such URL is fault.Invalid.
func Shown(url string) (string, error) {
	target, err := probe.ParseTarget(url)
	if err != nil {
		return "", err //nolint:wrapcheck // it says all
	}
	return target.String(), nil
}

// ReadState returns the observations of an endpoint that a folder keeps, none if there are none.
func ReadState(dir, url string) ([]Observation, error) {
	name := stateFile(dir, url)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was seen: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxStateBytes))
	if err != nil {
		return nil, fmt.Errorf("read what was seen: %w", err)
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil || s.Version != SchemaVersion {
		return nil, fmt.Errorf("%s is no file of this version of check; move it away to begin anew", name)
	}
	return s.Observations, nil
}

// WriteState adds an observation to those of the past and keeps them. The file is replaced as a whole. target is how reports name the endpoint.
func WriteState(dir, url, target string, past []Observation, seen Observation) error {
	text, err := encode(target, kept(append(slices.Clip(past), seen)))
	if err != nil {
		return fmt.Errorf("keep what was seen: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep what was seen: %w", err)
	}
	if err := files.Replace(stateFile(dir, url), text, 0o600); err != nil {
		return fmt.Errorf("keep what was seen: %w", err)
	}
	return nil
}

// kept returns the observations that are kept of all, of which there is one at least. Where they are more than that, those go first that are
// like the one before and without which the days between the others still count as observed: whoever scans every minute keeps a month too.
func kept(all []Observation) []Observation {
	if len(all) <= maxObservations {
		return all
	}
	last := len(all) - 1
	some := []Observation{all[0]}
	for i := 1; i < last; i++ {
		before := some[len(some)-1]
		if !alike(before, all[i]) || all[i+1].Time.Sub(before.Time) > longestGap {
			some = append(some, all[i])
		}
	}
	some = append(some, all[last])
	return some[max(0, len(some)-maxObservations):]
}

// alike reports whether two observations differ in nothing but their time.
func alike(a, b Observation) bool {
	a.Time = b.Time
	return reflect.DeepEqual(a, b)
}

// encode returns the file with the latest of some observations, as many as have room. If not even one has, it is kept as one in which the tools
// could not be read.
func encode(target string, all []Observation) ([]byte, error) {
	for {
		text, err := json.Marshal(state{Version: SchemaVersion, Target: target, Observations: all})
		switch {
		case err != nil:
			return nil, err //nolint:wrapcheck // WriteState says for what
		case len(text) <= maxStateBytes:
			return text, nil
		case len(all) > 1:
			all = all[(len(all)+1)/2:]
		case all[0].Listed:
			one := all[0]
			one.Listed, one.Tools = false, nil
			all = []Observation{one}
		default:
			return nil, fmt.Errorf("it has more than %d bytes", maxStateBytes)
		}
	}
}
