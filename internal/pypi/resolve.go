package pypi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"runpython/internal/fault"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/uv"
	"runpython/internal/pypi/wheel"
)

// resolve finds the wheels.
func (j *job) resolve(ctx context.Context) error {
	began := time.Now()
	defer func() { j.report.Resolving = time.Since(began) }()
	old := j.request.Installed
	if len(j.asked) == 0 && j.fits() {
		j.pins = old.pins()
		return j.in.gate.Resolved(j.pins)
	}
	earlier, err := parseAll(old.Requirements)
	if err != nil {
		return err
	}
	j.wanted = merge(earlier, j.asked)
	q := uv.Query{Requirements: ordered(slices.Clone(j.wanted)), Constraints: ordered(j.fixed), Before: j.in.before()}
	found, err := uv.Resolution{}, error(nil)
	if kept := j.keeping(q); len(kept.Constraints) > len(q.Constraints) {
		// What is there stays as it is, if that is possible at all: it may be loaded.
		found, err = j.ask(ctx, kept)
	}
	if len(found.Pins) == 0 || errors.Is(err, uv.ErrConflict) {
		found, err = j.ask(ctx, q)
	}
	if err != nil {
		return err
	}
	if found.Untimed {
		j.in.saidUntimed.Do(func() {
			found.Warnings = append(found.Warnings, "the package index gives no upload times, so the rule about young packages (--exclude-newer) is not applied to what comes from it")
			j.in.config.Log.Warn("the package index gives no upload times: --exclude-newer is not applied to it")
		})
	}
	j.report.Warnings = messages(j.report.Warnings, found.Warnings)
	j.pins = found.Pins
	return j.in.gate.Resolved(j.pins)
}

// merge adds what is asked for to what was asked for earlier. Of one name the new wish
// counts: who asks for another version shall get it. Wishes of one request hold together.
func merge(earlier, asked []requirement.Requirement) []requirement.Requirement {
	old, all := slices.Clone(earlier), []requirement.Requirement(nil)
	for _, r := range asked {
		isSame := func(o requirement.Requirement) bool { return o.Name == r.Name && o.Marker == "" && r.Marker == "" }
		isOther := slices.ContainsFunc(asked, func(o requirement.Requirement) bool { return isSame(o) && len(o.Clause) > 0 })
		for _, o := range old {
			if !isSame(o) {
				continue
			}
			r.Extras = slices.Concat(r.Extras, o.Extras)
			if !isOther {
				r.Clause = slices.Concat(r.Clause, o.Clause)
			}
		}
		slices.Sort(r.Extras)
		r.Extras = slices.Compact(r.Extras)
		old, all = slices.DeleteFunc(old, isSame), append(all, r)
	}
	return append(old, all...)
}

// texts returns requirements as a lock keeps them, each once.
func texts(list []requirement.Requirement) []string {
	var all []string
	for _, r := range list {
		if s := r.String(); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// keeping returns q with the versions that are installed.
func (j *job) keeping(q uv.Query) uv.Query {
	if !j.fits() {
		return q
	}
	q.Constraints = slices.Clone(q.Constraints)
	for _, p := range j.request.Installed.Packages {
		q.Constraints = append(q.Constraints, requirement.Requirement{Name: p.Name, Clause: []string{"==" + p.Version}})
	}
	q.Constraints = ordered(q.Constraints)
	return q
}

// ordered returns requirements in one order, each once, so that the same set is known
// again.
func ordered(list []requirement.Requirement) []requirement.Requirement {
	slices.SortFunc(list, func(a, b requirement.Requirement) int { return cmp.Compare(a.String(), b.String()) })
	return slices.CompactFunc(list, func(a, b requirement.Requirement) bool { return a.String() == b.String() })
}

// ask returns the answer to q: a kept one, else uv's.
func (j *job) ask(ctx context.Context, q uv.Query) (uv.Resolution, error) {
	key := j.in.answers.key(q, j.in.sources.Key(), target(j.in.config.PythonVersion))
	if r, ok := j.kept(key); ok {
		return r, nil
	}
	r, err := j.askOnce(ctx, key, q)
	none, ok := errors.AsType[*uv.NoWheelError](err)
	switch {
	case ok && j.builds():
		// Outside of the lock: this may take minutes.
		return j.fromSource(ctx, key, q, sourceless{none, err})
	case ok && none.SourceOnly && j.in.config.Guests == nil:
		kind, message := fault.Shown(err)
		err = fault.New(kind, err, message+" (--source-builds)")
	}
	return r, err
}

// askOnce asks uv, one at a time for one query.
func (j *job) askOnce(ctx context.Context, key string, q uv.Query) (uv.Resolution, error) {
	lock, err := j.in.answers.lock(ctx, key)
	if err != nil {
		return uv.Resolution{}, err
	}
	defer lock.Close()
	if r, ok := j.kept(key); ok {
		return r, nil
	}
	j.say("resolving")
	program, err := j.in.program(ctx)
	if err != nil {
		return uv.Resolution{}, err
	}
	j.report.Resolved = true
	r, err := program.Resolve(ctx, q)
	if err != nil {
		return r, err
	}
	return r, j.in.answers.put(key, r)
}

// kept returns the answer that was kept under key, unless it has source distributions and
// those are not built.
func (j *job) kept(key string) (uv.Resolution, bool) {
	r, ok := j.in.answers.get(key)
	if ok && !j.builds() && slices.ContainsFunc(r.Pins, wheel.Pin.IsSource) {
		return uv.Resolution{}, false
	}
	return r, ok
}
