package mcpserver

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A readAnswer is the answer to resources/read. The SDK's own leaves out an empty text, without
// which contents are of no kind, and does not say that it is complete, as it must from modernEra on.
type readAnswer struct {
	*mcp.ReadResourceResult
	resultType string // "" before modernEra
}

// MarshalJSON implements [json.Marshaler].
func (r readAnswer) MarshalJSON() ([]byte, error) {
	type contents struct {
		URI      string   `json:"uri"`
		MIMEType string   `json:"mimeType,omitempty"`
		Text     *string  `json:"text,omitempty"`
		Blob     []byte   `json:"blob,omitzero"`
		Meta     mcp.Meta `json:"_meta,omitempty"`
	}
	wire := struct {
		ResultType string   `json:"resultType,omitempty"`
		Meta       mcp.Meta `json:"_meta,omitempty"`
		mcp.Cacheable
		Contents []contents `json:"contents"`
	}{ResultType: r.resultType, Meta: r.Meta, Cacheable: r.Cacheable}
	for _, c := range r.Contents {
		shown := contents{URI: c.URI, MIMEType: c.MIMEType, Blob: c.Blob, Meta: c.Meta}
		if c.Blob == nil {
			shown.Text = &c.Text
		}
		wire.Contents = append(wire.Contents, shown)
	}
	data, err := json.Marshal(wire)
	if err != nil {
		return nil, fmt.Errorf("encode a resource: %w", err)
	}
	return data, nil
}

// A listAnswer is the answer to resources/list. The SDK's own leaves out a size of 0, which
// means that the size is not known.
type listAnswer struct{ *mcp.ListResourcesResult }

// MarshalJSON implements [json.Marshaler].
func (r listAnswer) MarshalJSON() ([]byte, error) {
	type sized struct {
		*mcp.Resource
		Size int64 `json:"size"`
	}
	wire := struct {
		*mcp.ListResourcesResult
		Resources []sized `json:"resources"`
	}{r.ListResourcesResult, make([]sized, len(r.Resources))}
	for i, listed := range r.Resources {
		wire.Resources[i] = sized{listed, listed.Size}
	}
	data, err := json.Marshal(wire)
	if err != nil {
		return nil, fmt.Errorf("encode a list of resources: %w", err)
	}
	return data, nil
}
