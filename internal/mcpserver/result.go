package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
)

// The whole answer stays below 1 MiB as JSON, since there are clients that refuse
// a larger event. All but the pictures has a share; pictures get what is left.
// Shares are in bytes of JSON.
const (
	maxAnswerBytes = 1<<20 - 1
	envelopeShare  = 8 << 10 // id, member names, state and notes, the server's own _meta
	maxTextBytes   = 384 << 10
	maxMetaBytes   = 64 << 10
	maxLinksBytes  = 64 << 10

	maxLinks    = 64
	maxMetaRuns = 16
)

// isolation is what separates a guest from the host, for programs that ask.
const isolation = "gvisor"

// result puts a reply into the form of the protocol: one text, then pictures,
// then links to files. There is no structured content on purpose: several clients
// show their model nothing else when it exists.
func (s *Server) result(ctx context.Context, r *chat.Reply) *mcp.CallToolResult {
	body := cutMiddle(visible(strings.TrimRight(r.Text, "\n")), maxTextBytes)
	links, linksLen, unlinked := fileLinks(r)
	room := maxAnswerBytes - envelopeShare - maxMetaBytes - linksLen - encodedLen(body)
	pictures, unseen := s.images(ctx, r.Images, room)

	content := make([]mcp.Content, 0, 1+len(pictures)+len(links))
	content = append(content, &mcp.TextContent{Text: replyText(r, body, notes(unseen, unlinked))})
	content = append(content, pictures...)
	content = append(content, links...)
	return &mcp.CallToolResult{Meta: replyMeta(r), Content: content, IsError: r.IsError}
}

// notes tells what the answer had no room for.
func notes(unseen, unlinked int) string {
	var b strings.Builder
	if unseen > 0 {
		fmt.Fprintf(&b, "%d of the pictures could not be shown here, their files are linked\n", unseen)
	}
	if unlinked > 0 {
		fmt.Fprintf(&b, "%d more files are not linked\n", unlinked)
	}
	return b.String()
}

// replyText is the text of a reply: the body, what had no room, and as its last
// lines the state of the chat and its id.
func replyText(r *chat.Reply, body, notes string) string {
	var foot strings.Builder
	foot.WriteString(notes)
	if line := stateLine(r); line != "" {
		foot.WriteString(line)
		foot.WriteByte('\n')
	}
	if r.ChatID != "" {
		foot.WriteString("chat_id: ")
		foot.WriteString(r.ChatID)
	}
	if body == "" || foot.Len() == 0 {
		return body + foot.String()
	}
	return body + "\n\n" + foot.String()
}

// stateLine tells what became of the variables, "" for a new chat.
func stateLine(r *chat.Reply) string {
	switch r.State {
	case chat.Kept:
		return "state: kept (variables and files are still there)"
	case chat.Restored:
		return "state: restored (variables and files are back)"
	case chat.Reset:
		reason := cutMiddle(visible(strings.TrimRight(r.StateReason, ". \n")), maxReasonBytes)
		if reason == "" {
			reason = "the interpreter was replaced"
		}
		return "state: reset (variables are lost: " + strings.ReplaceAll(reason, "\n", " ") + "; files of earlier turns are kept)"
	default:
		return ""
	}
}

// maxReasonBytes bounds the sentence that says why variables are lost.
const maxReasonBytes = 1 << 10

// fileLinks returns the links of a reply, what they take as JSON, and how many
// files had no room. Originals of pictures are linked also where the reply does
// not list them as files.
func fileLinks(r *chat.Reply) (links []mcp.Content, size, left int) {
	linked := make(map[string]bool)
	add := func(f chat.File) {
		if f.URI == "" || f.Skipped != "" || linked[f.URI] {
			return
		}
		linked[f.URI] = true
		link := &mcp.ResourceLink{URI: f.URI, Name: visible(f.Path), MIMEType: f.MIMEType}
		if f.Size >= 0 {
			link.Size = &f.Size
		}
		n := linkOverhead + encodedLen(link.URI) + encodedLen(link.Name) + encodedLen(link.MIMEType)
		if len(links) == maxLinks || size+n > maxLinksBytes {
			left++
			return
		}
		links = append(links, link)
		size += n
	}
	for _, f := range r.Files {
		add(f)
	}
	for _, i := range r.Images {
		add(chat.File{Path: i.Name, URI: i.URI, MIMEType: i.MIMEType, Size: -1, Result: true})
	}
	return links, size, left
}

// linkOverhead is what a link takes beside its values.
const linkOverhead = 128

type runMeta struct {
	Code       string `json:"code,omitempty"`
	Stdout     string `json:"stdout,omitempty"`
	Stderr     string `json:"stderr,omitempty"`
	Value      string `json:"value,omitempty"`
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"durationMs"`
}

type packageMeta struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Was     string `json:"was,omitempty"` // the version before
}

type fileMeta struct {
	Path     string `json:"path"`
	URI      string `json:"uri,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	Size     int64  `json:"size"`
	Result   bool   `json:"result,omitempty"`
	Skipped  string `json:"skipped,omitempty"`
}

type modelMeta struct {
	Name         string `json:"name"`
	End          string `json:"end"` // "answered", or what ended the work
	Requests     int    `json:"requests"`
	InputTokens  int    `json:"inputTokens"`
	OutputTokens int    `json:"outputTokens"`
	Estimated    bool   `json:"estimated,omitempty"` // the tokens are not the server's
}

// replyMeta holds the facts of a reply for programs, at most maxMetaBytes.
func replyMeta(r *chat.Reply) mcp.Meta {
	meta := mcp.Meta{"runpython/isolation": isolation}
	if r.ChatID != "" {
		meta["runpython/chatId"] = r.ChatID
	}
	if packages := packagesMeta(r.Packages); len(packages) > 0 {
		meta["runpython/packages"] = packages
	}
	if m := r.Model; m != nil {
		meta["runpython/model"] = modelMeta{m.Name, m.End, m.Requests, m.Usage.Input, m.Usage.Output, m.Usage.Estimated}
	}
	if runs := runsMeta(r.Runs); len(runs) > 0 {
		meta["runpython/runs"] = runs
	}
	if files := filesMeta(r.Files); len(files) > 0 {
		meta["runpython/files"] = files
	}
	return meta
}

// metaFieldBytes is the longest text in _meta; the same text is longer in the
// content, and complete behind a link.
const metaFieldBytes = 2 << 10

// runsMeta describes the last runs, in half of the room of _meta.
func runsMeta(runs []chat.Run) []runMeta {
	if len(runs) > maxMetaRuns {
		runs = runs[len(runs)-maxMetaRuns:]
	}
	const fields, overhead = 5, 128
	described := make([]runMeta, len(runs))
	for i, r := range runs {
		limit := min(metaFieldBytes, (maxMetaBytes/2/len(runs)-overhead)/fields)
		described[i] = runMeta{
			Code:       cutMiddle(visible(r.Code), limit),
			Stdout:     cutMiddle(visible(r.Stdout), limit),
			Stderr:     cutMiddle(visible(r.Stderr), limit),
			Value:      cutMiddle(visible(r.Value), limit),
			Error:      cutMiddle(visible(r.Error), limit),
			DurationMS: r.Duration.Milliseconds(),
		}
	}
	return described
}

// packagesShare is the part of the room of _meta for packages.
const packagesShare = maxMetaBytes / 8

// packagesMeta describes the first packages that were installed.
func packagesMeta(packages []chat.Package) []packageMeta {
	var described []packageMeta
	room := packagesShare
	for _, p := range packages {
		d := packageMeta{Name: visible(p.Name), Version: visible(p.Version), Was: visible(p.Was)}
		const members = 48
		if room -= members + encodedLen(d.Name) + encodedLen(d.Version) + encodedLen(d.Was); room < 0 {
			break
		}
		described = append(described, d)
	}
	return described
}

// filesMeta describes the first files, in what runs and packages leave of the room of _meta.
func filesMeta(files []chat.File) []fileMeta {
	var described []fileMeta
	room := maxMetaBytes/2 - packagesShare
	for _, f := range files {
		d := fileMeta{
			Path: visible(f.Path), URI: f.URI, MIMEType: f.MIMEType, Size: f.Size,
			Result: f.Result, Skipped: visible(f.Skipped),
		}
		room -= linkOverhead + encodedLen(d.Path) + encodedLen(d.URI) + encodedLen(d.MIMEType) + encodedLen(d.Skipped)
		if room < 0 || len(described) == maxLinks {
			break
		}
		described = append(described, d)
	}
	return described
}
