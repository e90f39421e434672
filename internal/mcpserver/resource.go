package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/fault"
)

const (
	// maxResourceBytes is the most of a file that resources/read returns: in
	// base64 it still fits into the largest answer.
	maxResourceBytes = 720 << 10

	// maxURIBytes holds the longest path that a guest may have, each byte of it
	// percent-encoded, and the part that is asked for.
	maxURIBytes = 16 << 10

	// maxPageFiles and maxPageBytes bound one page of resources/list; the second is
	// of the entries as JSON.
	maxPageFiles = 100
	maxPageBytes = 512 << 10

	chatsPrefix = "runpython://chats/"
	partQuery   = "{?offset,length}"
)

// resourceTemplates name paths by {path}, which RFC 6570 expands with every byte
// encoded that could mean something else, slashes too. Links have their slashes
// plain. Both are read.
func resourceTemplates() []*mcp.ResourceTemplate {
	return []*mcp.ResourceTemplate{{
		Name:        "file",
		Title:       "File of a chat",
		Description: "A file that code of a chat made in its working directory; " + describeParts,
		URITemplate: chatsPrefix + "{chat_id}/files/{path}" + partQuery,
	}, {
		Name:        "result",
		Title:       "Result of a turn",
		Description: "A picture or the complete output of one turn; " + describeParts,
		URITemplate: chatsPrefix + "{chat_id}/results/{run}/{name}" + partQuery,
	}}
}

var describeParts = fmt.Sprintf("offset and length, in bytes, ask for a part, and one answer has at most %d", maxResourceBytes)

// listResources lists the files of the caller's chats, those that were saved last
// first, unless others count as the same caller (Options.Shared). They change with every
// turn, so the list is never fresh for long, and it is nobody else's.
func (s *Server) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (mcp.Result, error) {
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	if s.shared {
		res := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
		res.CacheScope = "private"
		return listAnswer{res}, nil
	}
	files, more, err := s.chat.ListFiles(ctx, ownerOf(req), cursor, maxPageFiles)
	if err != nil {
		return nil, s.failedResource(ctx, "list resources", err)
	}
	res := &mcp.ListResourcesResult{Resources: make([]*mcp.Resource, 0, len(files))}
	res.CacheScope = "private"
	room := maxPageBytes
	for i, f := range files {
		r := &mcp.Resource{
			URI: f.URI, Name: visible(f.Path), MIMEType: f.MIMEType, Size: f.Size,
			Description: "in chat " + f.ChatID,
			Annotations: &mcp.Annotations{LastModified: f.Saved.UTC().Format(time.RFC3339)},
		}
		room -= 2*linkOverhead + encodedLen(r.URI) + encodedLen(r.Name) + encodedLen(r.MIMEType)
		if i > 0 && room < 0 {
			more = true
			break
		}
		res.Resources = append(res.Resources, r)
		res.NextCursor = f.Cursor
	}
	if !more {
		res.NextCursor = ""
	}
	return listAnswer{res}, nil
}

// readResource returns a file of a chat, or the part of it that is asked for. One
// that does not exist and one of somebody else look alike.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (mcp.Result, error) {
	res, err := s.resource(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := readAnswer{ReadResourceResult: res}
	if modern(req.ProtocolVersion()) {
		answer.resultType = resultComplete
	}
	return answer, nil
}

// resource is readResource in the words of the SDK.
func (s *Server) resource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, query, partial := strings.Cut(req.Params.URI, "?")
	if len(req.Params.URI) > maxURIBytes || !strings.HasPrefix(name, chatsPrefix) {
		return nil, resourceNotFound(req)
	}
	asked := part{length: maxResourceBytes}
	if partial {
		var complaint *jsonrpc.Error
		if asked, complaint = readPart(query); complaint != nil {
			return nil, complaint
		}
	}
	file, content, err := s.chat.OpenFile(ctx, ownerOf(req), name)
	if kind, _ := fault.Shown(err); err != nil && kind == fault.NotFound {
		return nil, resourceNotFound(req)
	}
	if err != nil {
		return nil, s.failedResource(ctx, "read a resource", err)
	}
	data, err := asked.of(content)
	if closing := content.Close(); err == nil {
		err = closing
	}
	switch {
	case err != nil:
		return nil, s.failedResource(ctx, "read a resource", err)
	case !partial && file.Size > maxResourceBytes:
		return nil, invalidParams(fmt.Sprintf("the file has %d bytes, resources/read returns at most %d: add ?offset=0&length=%d to the URI for the first part "+
			"and go on from there, or let code read what is needed", file.Size, maxResourceBytes, maxResourceBytes))
	case asked.offset > file.Size:
		return nil, invalidParams(fmt.Sprintf("offset %d is past the end: the file has %d bytes", asked.offset, file.Size))
	}
	c := resourceContents(req.Params.URI, file.MIMEType, data)
	if partial {
		c.Meta = mcp.Meta{"runpython/part": partMeta{asked.offset, int64(len(data)), file.Size}}
	}
	res := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
	res.CacheScope = "private"
	if file.Result {
		res.TTLMs = int(resultFresh.Milliseconds())
	}
	return res, nil
}

// A part of a file, in bytes.
type part struct{ offset, length int64 }

// partMeta tells where a part was.
type partMeta struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
	Size   int64 `json:"size"` // of the whole file
}

// readPart reads the query of a URI: offset is 0 unless given, length as much as one
// answer holds. A longer one is cut to that.
func readPart(query string) (part, *jsonrpc.Error) {
	p := part{length: maxResourceBytes}
	malformed := invalidParams("after the ? of a URI come offset and length, whole numbers of bytes, length at least 1, as in ?offset=0&length=1000; " +
		"a ? in a file's name is written as %3F")
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, malformed
	}
	for name, given := range values {
		n, err := strconv.ParseInt(given[0], 10, 64)
		switch {
		case err != nil || n < 0 || len(given) > 1:
			return p, malformed
		case name == "offset":
			p.offset = n
		case name == "length" && n > 0:
			p.length = min(n, maxResourceBytes)
		default:
			return p, malformed
		}
	}
	return p, nil
}

// of reads the part from content, less where content ends.
func (p part) of(content io.ReadSeeker) ([]byte, error) {
	if _, err := content.Seek(p.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("find a part of a file: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(content, p.length))
	if err != nil {
		return nil, fmt.Errorf("read a part of a file: %w", err)
	}
	return data, nil
}

// resultFresh is how long clients may reuse the result of a turn, which never
// changes. A file in the working directory may change with the next run.
const resultFresh = time.Hour

// failedResource tells the caller what went wrong with files. What is ours goes to
// the log under the name of what was attempted.
func (s *Server) failedResource(ctx context.Context, attempted string, err error) *jsonrpc.Error {
	kind, shown := fault.Shown(err)
	switch {
	case ctx.Err() != nil, kind == fault.Canceled:
		return errCancelled()
	case kind == fault.Internal:
		s.log.ErrorContext(ctx, "a request for files failed", "attempted", attempted, "error", err)
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: shownInternal}
	}
	return invalidParams(shown)
}

// resourceContents gives text as text, unless JSON would make it too long, and
// everything else in base64.
func resourceContents(uri, mimeType string, data []byte) *mcp.ResourceContents {
	c := &mcp.ResourceContents{URI: uri, MIMEType: mimeType}
	if textual(mimeType) && utf8.Valid(data) && encodedLen(string(data)) < maxAnswerBytes-envelopeShare-maxURIBytes {
		c.Text = string(data)
		return c
	}
	c.Blob = data
	if c.Blob == nil {
		c.Blob = []byte{}
	}
	return c
}

// textual reports whether files of a type are read as text.
func textual(mimeType string) bool {
	base, _, _ := strings.Cut(mimeType, ";")
	base = strings.TrimSpace(base)
	switch base {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson",
		"application/yaml", "application/toml", "application/sql", "application/x-python", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml")
}
