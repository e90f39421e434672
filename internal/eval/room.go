package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/message"
)

// Bounds of the files that are copied out of a chat; what is beyond them is left out.
const (
	maxCopied      = 200
	maxCopiedBytes = 64 << 20 // all of them
)

// files are the content of /work, by path.
type files map[string][]byte

// A room is a chat that this package has with the program.
type room struct {
	program Program
	folder  string            // in /work, where files are put; "" or ended by a slash
	id      string            // of the chat, "" before it began
	made    map[string]string // URIs of the files that runs have made or changed, by path
}

// putAll puts files into the room, in the order of their names.
func (r *room) putAll(ctx context.Context, all files) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := r.put(ctx, name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *room) put(ctx context.Context, name string, content []byte) error {
	id, err := r.program.PutFile(ctx, owner, r.id, r.folder+name, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("put %q into a chat: %w", name, err)
	}
	r.id = id
	return nil
}

// send runs one turn.
func (r *room) send(ctx context.Context, text string) (*chat.Reply, error) {
	reply, err := r.program.Turn(ctx, chat.Request{Owner: owner, ChatID: r.id, Message: text})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if ctx.Err() != nil { // the reply then says that it was stopped
		return nil, context.Cause(ctx)
	}
	if reply.ChatID != "" {
		r.id = reply.ChatID
	}
	if r.made == nil {
		r.made = make(map[string]string)
	}
	for _, f := range reply.Files {
		if !f.Result && f.Skipped == "" {
			r.made[f.Path] = f.URI
		}
	}
	return reply, nil
}

// run runs code as it is, without a model.
func (r *room) run(ctx context.Context, code string) (*chat.Reply, error) {
	fence := strings.Repeat("~", max(3, message.LongestRun(code, '~')+1))
	return r.send(ctx, fence+"python\n"+ended(code)+fence+"\n")
}

// take adds the files that runs have made or changed to work.
func (r *room) take(ctx context.Context, work files) error {
	left := int64(maxCopiedBytes)
	paths := slices.Sorted(maps.Keys(r.made))
	for _, name := range paths[:min(len(paths), maxCopied)] {
		content, err := r.read(ctx, r.made[name], left)
		if kind, _ := fault.Shown(err); err != nil && kind != fault.NotFound {
			return err
		}
		if err != nil || content == nil { // deleted since, or too large
			delete(work, name)
			continue
		}
		work[name] = content
		left -= int64(len(content))
	}
	return nil
}

// read returns the content of a file, nil when it is longer than most.
func (r *room) read(ctx context.Context, uri string, most int64) (content []byte, err error) {
	_, body, err := r.program.OpenFile(ctx, owner, uri)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	content, err = io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read a file of a chat: %w", err)
	}
	if int64(len(content)) > most {
		return nil, nil
	}
	return content, nil
}
