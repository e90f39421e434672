package mcpserver

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/fault"
)

const (
	// maxResourceBytes is the largest file that resources/read returns: in
	// base64 it still fits into the largest answer.
	maxResourceBytes = 720 << 10

	maxURIBytes = 8 << 10

	chatsPrefix = "runpython://chats/"
)

func resourceTemplates() []*mcp.ResourceTemplate {
	return []*mcp.ResourceTemplate{{
		Name:        "file",
		Title:       "File of a chat",
		Description: "A file that code of a chat made in its working directory",
		URITemplate: chatsPrefix + "{chat_id}/files/{+path}",
	}, {
		Name:        "result",
		Title:       "Result of a turn",
		Description: "A picture or the complete output of one turn",
		URITemplate: chatsPrefix + "{chat_id}/results/{turn}/{name}",
	}}
}

// readResource returns a file of a chat. One that does not exist and one of
// somebody else look alike.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	if len(uri) > maxURIBytes || !strings.HasPrefix(uri, chatsPrefix) {
		return nil, resourceNotFound(req)
	}
	file, content, err := s.chat.OpenFile(ctx, ownerOf(req), uri)
	if err != nil {
		return nil, s.failedRead(ctx, req, err)
	}
	data, err := io.ReadAll(io.LimitReader(content, maxResourceBytes+1))
	if closing := content.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, s.failedRead(ctx, req, err)
	}
	if len(data) > maxResourceBytes {
		return nil, invalidParams(fmt.Sprintf("the file has %d bytes, resources/read returns at most %d; let code read the part that is needed",
			max(file.Size, int64(len(data))), maxResourceBytes))
	}
	res := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{resourceContents(uri, file.MIMEType, data)}}
	res.CacheScope = "private"
	if file.Result {
		res.TTLMs = int(resultFresh.Milliseconds())
	}
	return res, nil
}

// resultFresh is how long clients may reuse the result of a turn, which never
// changes. A file in the working directory may change with the next run.
const resultFresh = time.Hour

// failedRead tells the caller of a file that could not be read.
func (s *Server) failedRead(ctx context.Context, req *mcp.ReadResourceRequest, err error) *jsonrpc.Error {
	kind, shown := fault.Shown(err)
	switch {
	case ctx.Err() != nil, kind == fault.Canceled:
		return errCancelled()
	case kind == fault.NotFound:
		return resourceNotFound(req)
	case kind == fault.Internal:
		s.log.ErrorContext(ctx, "resource not read", "error", err)
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: shownInternal}
	}
	return invalidParams(shown)
}

// resourceContents gives text as text, unless JSON would make it too long, and
// everything else in base64. An empty file is an empty blob, since the SDK leaves
// an empty text out.
func resourceContents(uri, mimeType string, data []byte) *mcp.ResourceContents {
	c := &mcp.ResourceContents{URI: uri, MIMEType: mimeType}
	if len(data) > 0 && textual(mimeType) && utf8.Valid(data) && encodedLen(string(data)) < maxAnswerBytes-envelopeShare-maxURIBytes {
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
