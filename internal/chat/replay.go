package chat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/message"
	"runpython/internal/store"
)

const (
	// maxReplayed is how many turns are executed again to get the variables of a chat back.
	maxReplayed = 200
	// toldReplayed is how many runs and files are named that came out otherwise.
	toldReplayed = 5
)

// A replay gets the variables of a chat back by executing the runs since its checkpoint again. After each turn the files are
// what that turn had left.
type replay struct {
	turn     *execution // of the turn that needs the variables
	kind     store.Replay
	manifest []store.Version
	initial  []store.File
	base     int               // the turn from which it goes on
	there    map[string]string // contents of what is in /work, by path; "" for what is not known

	turns     []int    // of which runs were executed
	otherwise []string // clauses about runs
	restored  []string // paths of files that were put back
	problems  []string
}

// A givenUpError says why variables cannot come back by a replay.
type givenUpError struct{ loss string }

// Error returns the reason.
func (e *givenUpError) Error() string { return e.loss }

// tooMuch says why so many turns are not executed again, "" if they are.
func tooMuch(turns int) string {
	if turns <= maxReplayed {
		return ""
	}
	return fmt.Sprintf("the runs of %d turns would have to be executed again, and the most is %d", turns, maxReplayed)
}

// leftOut says why a run is not executed again, "" if it is.
func leftOut(run store.Run) string {
	switch {
	case run.Elsewhere:
		return "it was imported and has not run here"
	case run.Cut:
		return "its code is not kept as a whole"
	case run.Limited:
		return "a limit had ended it"
	}
	return ""
}

// neverRan says why a chat that goes on from a turn has no variables: all that it has since then was imported and has not run. Else it is "".
func neverRan(turns []store.Turn, base int) (loss string) {
	if base > 0 {
		return ""
	}
	for _, t := range turns {
		for _, run := range t.Runs {
			if !run.Elsewhere {
				return ""
			}
			loss = lossImported
		}
	}
	return loss
}

// replay gives the chat an interpreter with its variables. When they cannot come back done is false, and the chat's loss says
// why. After an error nothing has changed, so that the next turn does it.
func (x *execution) replay(ctx context.Context) (done bool, err error) {
	c := x.chat
	r := &replay{turn: x, there: make(map[string]string), kind: c.replay}
	c.replay = store.NoReplay // what is begun for it is no replay
	err = r.run(ctx)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded): // the next turn would not get further
		err = &givenUpError{"executing earlier runs again took longer than the turn may"}
	case ctx.Err() != nil:
		err = x.stopped(ctx, errors.Join(err, ctx.Err()))
	}
	givenUp, isGivenUp := errors.AsType[*givenUpError](err)
	switch {
	case err == nil:
		c.resumed, x.replayed = true, r.words()
		x.problems = append(x.problems, x.replayed...)
	case isGivenUp:
		c.setCheckpoint(nil, 0)
		x.service.logEnd(ctx, c, x.service.end(c, givenUp.loss))
		c.loss = givenUp.loss
	default:
		x.service.logEnd(ctx, c, x.service.end(c, ""))
		c.replay, c.loss = r.kind, ""
		return false, fmt.Errorf("get the variables of a chat back: %w", err)
	}
	x.reply.State, x.reply.StateReason = c.state()
	return !isGivenUp, nil
}

func (r *replay) run(ctx context.Context) error {
	x, c := r.turn, r.turn.chat
	var err error
	if r.manifest, err = x.service.options.Store.Manifest(ctx, c.id); err != nil {
		return fmt.Errorf("read what turns have left: %w", err)
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if loss := tooMuch(c.turns - r.base); loss != "" {
		return &givenUpError{loss}
	}
	turns, err := x.service.turnsSince(ctx, c, r.base)
	if err != nil {
		return err
	}
	if loss := neverRan(turns, r.base); loss != "" {
		return &givenUpError{loss}
	}
	for _, t := range turns {
		for _, run := range t.Runs {
			if err := r.again(ctx, t.Number, run); err != nil {
				return err
			}
		}
		if err := r.settle(ctx, t.Number); err != nil {
			return err
		}
	}
	return r.settle(ctx, c.turns)
}

// begin gives the chat the interpreter of its checkpoint, or a new one.
func (r *replay) begin(ctx context.Context) error {
	x, c := r.turn, r.turn.chat
	if c.checkpoint != nil {
		base := c.checkpoint.Turn
		x.report(Progress{Step: "restoring"})
		lost, err := x.service.resume(ctx, c, func(environment string, preloaded bool) error {
			return x.restock(ctx, environment, preloaded)
		})
		if err != nil {
			return fmt.Errorf("restore an interpreter: %w", err)
		}
		if lost == "" {
			r.base, r.initial = base, filesAt(r.manifest, base)
			r.note(r.initial, nil)
			return nil
		}
		r.problems = append(r.problems, fmt.Sprintf("The variables could not come from turn %d: %s.", base, lost))
		c.setCheckpoint(nil, 0)
	}
	if tooMuch(c.turns) != "" {
		return nil // run says so
	}
	x.report(Progress{Step: "starting"})
	at := 0
	if r.kind == store.ReplayAsNew {
		at = c.turns // what is there was put there for it
	}
	r.initial = filesAt(r.manifest, at)
	x.initial = r.initial
	err := x.service.start(ctx, c, func(dir string) error { return x.fill(ctx, dir) })
	x.initial = nil
	if err != nil {
		return fmt.Errorf("start an interpreter: %w", err)
	}
	r.note(r.initial, x.misplaced)
	return x.putBack(ctx)
}

// note takes files but some as there.
func (r *replay) note(files []store.File, but []string) {
	for _, f := range files {
		if !slices.Contains(but, f.Path) {
			r.there[f.Path] = f.Hash
		}
	}
}

// filesAt returns the files that a turn has left, sorted by path; never nil.
func filesAt(manifest []store.Version, turn int) []store.File {
	files := []store.File{}
	for _, v := range manifest {
		if v.Since <= turn && (v.Gone == 0 || v.Gone > turn) {
			files = append(files, v.File)
		}
	}
	return files
}

// again executes a run of a turn.
func (r *replay) again(ctx context.Context, turn int, run store.Run) error {
	x, c := r.turn, r.turn.chat
	if run.Dropped > 0 {
		r.otherwise = append(r.otherwise, fmt.Sprintf("the runs of turn %d before run %d were left out, since only the latest %d of a turn are kept", turn, run.Number, keptRuns))
	}
	if why := leftOut(run); why != "" {
		r.differs(turn, run, "was left out, since "+why)
		return nil
	}
	x.report(Progress{Step: fmt.Sprintf("executing turn %d again", turn)})
	again := &execution{
		service: x.service, chat: c, request: Request{RunTimeout: x.request.RunTimeout}, message: message.Read(messageOf(run.Code)),
		again: turn, initial: r.initial,
	}
	before, fresh := c.kernel, c.fresh
	result, err := again.execute(ctx)
	if refused, ok := errors.AsType[*refusedError](err); ok {
		r.differs(turn, run, "was left out: "+refused.reason)
		return nil
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err //nolint:wrapcheck // told as what it is
	}
	if result.Lost || c.kernel != before && !fresh {
		return &givenUpError{fmt.Sprintf("its sandbox ended while the runs of turn %d were executed again", turn)}
	}
	x.shipment.packages = append(x.shipment.packages, again.shipment.packages...)
	if !slices.Contains(r.turns, turn) {
		r.turns = append(r.turns, turn)
	}
	again.result = result
	switch got := again.newRun(); {
	case result.Status == kernel.NotCode: // a cell of a notebook in another language, for one
		r.differs(turn, run, "was left out, since it is no Python")
	case (got.Error == "") != (run.Error == ""):
		r.differs(turn, run, outcomeOf(got.Error))
	}
	return r.follow(ctx, again)
}

// outcomeOf tells how a run has ended that had ended otherwise before.
func outcomeOf(failure string) string {
	if failure == "" {
		return "did not fail now"
	}
	lines := strings.Split(strings.TrimSpace(failure), "\n")
	return "failed now: " + shortPath(lines[len(lines)-1])
}

func (r *replay) differs(turn int, run store.Run, how string) {
	r.otherwise = append(r.otherwise, fmt.Sprintf("run %d of turn %d %s", run.Number, turn, how))
}

// follow notes what a run has done to the files.
func (r *replay) follow(ctx context.Context, again *execution) error {
	report := again.result.Files
	if report == nil {
		return nil
	}
	if r.kind == store.ReplayAsNew {
		return again.keepFiles(ctx)
	}
	d := differences(nil, report, again.service.options.Limits)
	err := again.fetch(ctx, d)
	again.service.giveUp(ctx, d.files())
	if err != nil {
		return fmt.Errorf("look at the files of a run: %w", ofDisk(err))
	}
	if report.Full {
		clear(r.there)
	}
	for _, path := range d.deleted {
		delete(r.there, path)
	}
	r.note(d.files(), nil)
	return nil
}

// settle makes the files those that a turn has left, as far as that is known.
func (r *replay) settle(ctx context.Context, turn int) error {
	x, c := r.turn, r.turn.chat
	if r.kind == store.ReplayAsNew || turn < c.horizon {
		return nil
	}
	want := filesAt(r.manifest, turn)
	gone := maps.Clone(r.there)
	for _, f := range want {
		delete(gone, f.Path)
	}
	if len(gone) > 0 {
		paths := slices.Sorted(maps.Keys(gone))
		kept, err := c.kernel.Remove(ctx, paths)
		if err != nil {
			return fmt.Errorf("remove files of turns that were undone: %w", err)
		}
		if kept > 0 {
			r.problems = append(r.problems, fmt.Sprintf("%s that turn %d had not left could not be removed.", counted(int64(kept), "file"), turn))
		}
		for _, path := range paths {
			delete(r.there, path)
		}
		r.restored = append(r.restored, paths...)
	}
	for _, f := range want {
		if hash, there := r.there[f.Path]; there && (hash == f.Hash || f.Hash == "") {
			continue
		}
		if err := r.putBack(ctx, x.service, f); err != nil {
			return err
		}
	}
	return nil
}

// putBack puts a file into place as a turn has left it.
func (r *replay) putBack(ctx context.Context, s *Service, f store.File) error {
	problem := "it is not kept"
	if f.Hash != "" {
		err := s.putLive(ctx, r.turn.chat, f)
		kind, shown := fault.Shown(err)
		if err != nil && kind != fault.Invalid {
			return err
		}
		problem = shown
		if err == nil {
			problem = ""
		}
	}
	r.there[f.Path] = f.Hash
	switch {
	case problem != "":
		r.problems = append(r.problems, fmt.Sprintf("The file %s could not be put back: %s.", quotedPath(f.Path), strings.TrimRight(problem, ".")))
	case f.Stamp != "": // else it was put there by the person
		r.restored = append(r.restored, f.Path)
	}
	return nil
}

// words says what was done, as sentences; none when nothing was.
func (r *replay) words() []string {
	var told []string
	if len(r.turns) > 0 {
		after := ""
		if r.base > 0 {
			after = fmt.Sprintf(", after the checkpoint of turn %d", r.base)
		}
		told = append(told, "To get the variables back, the runs of "+turnsInWords(r.turns)+" were executed again"+after+".")
	}
	if len(r.otherwise) > 0 {
		told = append(told, "It did not go as before: "+listed(r.otherwise, toldReplayed, asItIs)+".")
	}
	if slices.Sort(r.restored); len(r.restored) > 0 {
		told = append(told, "Files that came out otherwise were put back as they had been: "+listed(slices.Compact(r.restored), toldReplayed, quotedPath)+".")
	}
	if more := len(r.problems) - toldReplayed; more > 0 {
		r.problems = append(r.problems[:toldReplayed], fmt.Sprintf("%d more problems are left out here.", more))
	}
	return append(told, r.problems...)
}

// turnsInWords names turns: "turn 2", "turns 2 to 4, 6".
func turnsInWords(turns []int) string {
	var parts []string
	for i := 0; i < len(turns); {
		last := i
		for last+1 < len(turns) && turns[last+1] == turns[last]+1 {
			last++
		}
		if last > i {
			parts = append(parts, fmt.Sprintf("%d to %d", turns[i], turns[last]))
		} else {
			parts = append(parts, strconv.Itoa(turns[i]))
		}
		i = last + 1
	}
	word := "turn "
	if len(turns) > 1 {
		word = "turns "
	}
	return word + listed(parts, toldReplayed, asItIs)
}

func quotedPath(path string) string {
	return strconv.Quote(shortPath(strings.ToValidUTF8(path, "\uFFFD")))
}

// messageOf is code as a message in which nothing but that code is.
func messageOf(code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	return marks + "python\n" + code + "\n" + marks
}
