package triage

import (
	"encoding/json"
	"fmt"
	"slices"

	"runpython/internal/check"
	"runpython/internal/check/files"
)

// A baseline is the file: what was accepted of some targets.
type baseline struct {
	Version int              `json:"version"`
	Targets []check.Baseline `json:"targets"`
}

// ReadBaseline reads a baseline that [WriteBaseline] has written.
func ReadBaseline(name string) ([]check.Baseline, error) {
	text, err := files.Read(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	var b baseline
	if err := json.Unmarshal(text, &b); err != nil || b.Version != version {
		return nil, wrong(name, "is no baseline of this version of check")
	}
	return b.Targets, nil
}

// WriteBaseline writes what scans are compared with from now on. The same findings give the same file but for times. It is
// replaced as a whole.
func WriteBaseline(name string, targets []check.Baseline) error {
	text, err := json.MarshalIndent(baseline{Version: version, Targets: targets}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the baseline: %w", err)
	}
	if err := files.Replace(name, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the baseline: %w", err)
	}
	return nil
}

// Compare says of each finding of a report whether the baseline has it. A target that it has not is new as a whole.
func Compare(targets []check.Baseline, r *check.Report, seen check.Observation) {
	b := check.Baseline{Target: r.Target, CreatedAt: r.StartedAt, Seen: seen}
	if i := slices.IndexFunc(targets, func(b check.Baseline) bool { return b.Target == r.Target }); i >= 0 {
		b = targets[i]
	}
	r.Compare(b, seen)
}
