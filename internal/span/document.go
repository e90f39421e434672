package span

import (
	"slices"
	"strconv"
	"strings"
)

// attribute is a name and a value as OTLP writes them in JSON.
type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// The document that is posted: opentelemetry-proto's ExportTraceServiceRequest.
type (
	document struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []spanForm `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	spanForm struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       Kind        `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Code int `json:"code"`
	}
)

// statusError is OTLP's STATUS_CODE_ERROR.
const statusError = 2

func (s Settings) document(spans []*Span) document {
	var about []attribute
	for key, value := range s.Resource {
		about = append(about, attribute{key, map[string]any{"stringValue": value}})
	}
	slices.SortFunc(about, func(a, b attribute) int { return strings.Compare(a.Key, b.Key) })
	forms := make([]spanForm, len(spans))
	for i, s := range spans {
		forms[i] = spanForm{
			TraceID: s.traceID, SpanID: s.spanID, Parent: s.parent, Name: s.name, Kind: s.kind,
			Start: strconv.FormatInt(s.begun.UnixNano(), 10), End: strconv.FormatInt(s.ended.UnixNano(), 10), Attributes: s.attributes,
		}
		if s.failed {
			forms[i].Status = &status{Code: statusError}
		}
	}
	return document{[]resourceSpans{{Resource: resource{about}, ScopeSpans: []scopeSpans{{Scope: scope{"runpython"}, Spans: forms}}}}}
}
