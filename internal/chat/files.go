package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"runpython/internal/excerpt"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/store"
	"runpython/internal/store/content"
)

const (
	// listedFiles is how many changed files a reply names.
	listedFiles = 50
	// keptWorks bounds the files that are kept of a chat, in sizes of /work. It is more than
	// one because of files with holes, which take no room in /work but do here.
	keptWorks = 3
)

// keptVersions is how many files are kept that earlier turns of a chat have left otherwise. In bytes they have one size of /work.
const keptVersions = 20_000

// changesOf says what has become of files by a turn.
func (s *Service) changesOf(turn int, changed []store.File, deleted []string) store.Changes {
	return store.Changes{Turn: turn, Changed: changed, Deleted: deleted, Most: store.Bounds{Count: keptVersions, Bytes: s.options.Limits.WorkBytes}}
}

// keptBytes is how much is kept of a chat's files.
func (l Limits) keptBytes() int64 { return keptWorks * l.WorkBytes }

// release gives up the holds on the content of records, which the store refers to by now or nobody.
func (s *Service) release(files []store.File) (contents []string) {
	for _, f := range files {
		if f.Hash == "" {
			continue
		}
		contents = append(contents, f.Hash)
		if err := s.options.Content.Release(f.Hash); err != nil {
			s.options.Log.Error("let go of a file", "error", err)
		}
	}
	return contents
}

// discard removes contents to which no record refers. What fails is made good by the next sweep.
func (s *Service) discard(ctx context.Context, contents []string) {
	if err := s.options.Content.Remove(ctx, contents, s.options.Store.Unreferenced); err != nil {
		s.options.Log.ErrorContext(ctx, "remove files that nobody needs", "error", err)
	}
}

// giveUp gives up files that were kept for nothing.
func (s *Service) giveUp(ctx context.Context, files []store.File) { s.discard(ctx, s.release(files)) }

// refer lets the store refer to files whose content is held: first they are on the disk, then in the store. The
// holds are given up in any case, and what nobody refers to any more is removed.
func (s *Service) refer(ctx context.Context, files []store.File, save func() (gone []string, err error)) error {
	var contents []string
	for _, f := range files {
		if f.Hash != "" {
			contents = append(contents, f.Hash)
		}
	}
	if err := s.options.Content.Sync(contents); err != nil {
		s.giveUp(ctx, files)
		return err
	}
	gone, err := save()
	if err != nil {
		s.giveUp(ctx, files)
		return lostWrite(err)
	}
	s.release(files)
	s.discard(ctx, gone)
	return nil
}

// A change is something in /work that is not kept as it is now.
type change struct {
	entry   kernel.FileEntry
	file    store.File
	skipped string // why the content is not kept, "" when it is
}

// changes are the differences between what a run has left and what is kept.
type changes struct {
	made    []change
	deleted []string
	room    int64 // bytes that may be kept of what was made
	extra   int   // files that are not kept because there are too many
}

// files returns the records of what was made.
func (c *changes) files() []store.File {
	all := make([]store.File, len(c.made))
	for i, m := range c.made {
		all[i] = m.file
	}
	return all
}

// number is that of the turn.
func (x *execution) number() int { return cmp.Or(x.again, x.chat.turns+1) }

// keepFiles fetches what the run has changed in /work and keeps it.
func (x *execution) keepFiles(ctx context.Context) error {
	r := x.result
	if r.Files == nil || r.Lost {
		return nil
	}
	known, err := x.service.options.Store.Files(ctx, x.chat.id)
	if err != nil {
		return fmt.Errorf("look up the files of a chat: %w", err)
	}
	limits := x.service.options.Limits
	c := differences(known, r.Files, limits)
	if err := x.fetch(ctx, c); err != nil {
		x.service.giveUp(ctx, c.files())
		return fmt.Errorf("keep the files of a run: %w", ofDisk(err))
	}
	err = x.service.refer(ctx, c.files(), func() ([]string, error) {
		return x.service.options.Store.SaveFiles(ctx, x.chat.lease, x.service.changesOf(x.number(), c.files(), c.deleted))
	})
	if err != nil {
		return fmt.Errorf("keep the files of a run: %w", ofDisk(err))
	}
	for _, m := range c.made[:min(len(c.made), listedFiles)] {
		x.reply.Files = append(x.reply.Files, File{
			Path: strings.ToValidUTF8(m.file.Path, "\uFFFD"), URI: fileURI(x.chat.id, m.file.Path),
			MIMEType: m.file.MIMEType, Size: m.file.Size, Skipped: m.skipped,
		})
	}
	if more := len(c.made) - listedFiles; more > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d more files were made or changed", more))
	}
	if c.extra > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d files were not kept: the most of a chat are %d", c.extra, limits.WorkFiles))
	}
	if r.Files.Over {
		r.Notes = append(r.Notes, fmt.Sprintf("there are more than %d files in /work: only those were looked at; delete some", limits.WorkFiles))
	}
	return nil
}

// differences compares a report with what is kept. A report is hostile: of what it
// names, as much counts as may be there.
func differences(known []store.File, report *kernel.FileReport, limits Limits) *changes {
	c := &changes{deleted: slices.Clone(report.Deleted[:min(len(report.Deleted), limits.WorkFiles)])}
	kept := make(map[string]store.File, len(known))
	for _, f := range known {
		kept[f.Path] = f
	}
	same := make(map[string]bool)
	for _, e := range report.Changed[:min(len(report.Changed), limits.WorkFiles)] {
		if f, there := kept[e.Path]; there && f.Stamp == e.Stamp {
			same[e.Path] = true
			continue
		}
		c.made = append(c.made, change{
			entry: e, file: store.File{Path: e.Path, Size: e.Size, Stamp: e.Stamp}, skipped: withoutContent(e.Kind),
		})
	}
	c.deleted = append(c.deleted, contradicted(known, c.files())...)
	for _, path := range c.deleted {
		delete(kept, path)
	}
	if report.Full {
		for _, m := range c.made {
			same[m.file.Path] = true
		}
		for path := range kept {
			if !same[path] {
				c.deleted = append(c.deleted, path)
				delete(kept, path)
			}
		}
	}
	c.bound(kept, limits)
	return c
}

// bound cuts what was made to what may be kept beside what stays.
func (c *changes) bound(kept map[string]store.File, limits Limits) {
	c.room = limits.keptBytes()
	for i, m := range c.made {
		if _, there := kept[m.file.Path]; !there && len(kept) >= limits.WorkFiles {
			c.extra = len(c.made) - i
			c.made = c.made[:i]
			break
		}
		kept[m.file.Path] = store.File{} // its content is replaced
	}
	for _, f := range kept {
		if f.Hash != "" {
			c.room -= f.Size
		}
	}
}

// withoutContent says why something that is no regular file has no content.
func withoutContent(kind string) string {
	switch kind {
	case "file":
		return ""
	case "link":
		return "a symbolic link is not followed"
	default:
		return "a " + kind + " has no content"
	}
}

// contradicted returns the paths of known files that cannot be there beside the new
// ones, because one of the two were a folder. A report that is cut does not tell that such
// a file is gone.
func contradicted(known, made []store.File) []string {
	type entry struct {
		path  string
		isNew bool
	}
	all := make([]entry, 0, len(known)+len(made))
	isMade := make(map[string]bool, len(made))
	for _, f := range made {
		isMade[f.Path] = true
		all = append(all, entry{f.Path, true})
	}
	for _, f := range known {
		if !isMade[f.Path] {
			all = append(all, entry{f.Path, false})
		}
	}
	// What is in a folder follows it at once.
	slices.SortFunc(all, func(a, b entry) int { return byFolder(a.path, b.path) })
	var gone []string
	var above []entry // each is in the one before
	newAbove := 0
	for _, e := range all {
		for len(above) > 0 && !strings.HasPrefix(e.path, above[len(above)-1].path+"/") {
			if above[len(above)-1].isNew {
				newAbove--
			}
			above = above[:len(above)-1]
		}
		if !e.isNew && newAbove > 0 {
			gone = append(gone, e.path)
			continue
		}
		if e.isNew && newAbove < len(above) {
			for _, a := range above {
				if !a.isNew {
					gone = append(gone, a.path)
				}
			}
			above = slices.DeleteFunc(above, func(a entry) bool { return !a.isNew })
		}
		above = append(above, e)
		if e.isNew {
			newAbove++
		}
	}
	return gone
}

// byFolder orders paths so that a folder is followed by all that is in it.
func byFolder(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// fetch gets the content of regular files out of the interpreter, as much as there is room for.
func (x *execution) fetch(ctx context.Context, c *changes) error {
	var paths []string
	var index []int
	room := c.room
	for i, m := range c.made {
		switch {
		case m.skipped != "":
		case m.entry.Size > room:
			c.made[i].skipped = "there is no room: the most that is kept of a chat's files is " + excerpt.Size(x.service.options.Limits.keptBytes())
		default:
			room -= m.entry.Size
			paths, index = append(paths, m.entry.Path), append(index, i)
			c.made[i].skipped = "it could not be read" // until it was
		}
	}
	if len(paths) == 0 {
		return nil
	}
	var draft *content.Draft
	begin := func() (err error) {
		if draft == nil {
			draft, err = x.service.options.Content.New()
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
		m := &c.made[index[i]]
		m.skipped = ""
		return keep(done, &m.file)
	}
	err := x.chat.kernel.Get(ctx, paths, c.room, sink, end)
	if draft != nil {
		err = errors.Join(err, draft.Discard())
	}
	return err
}

// ofDisk says what to do when the server's disk takes nothing.
func ofDisk(err error) error {
	if trouble := fault.DiskTrouble(err); trouble != "" {
		return fault.New(fault.Busy, err, "the server's disk is "+trouble+"; tell the operator")
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
	f.Hash, f.Size, f.MIMEType, f.Saved = hash, size, mimeType(f.Path, start), time.Now()
	return nil
}
