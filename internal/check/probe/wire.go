package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The codes of MCP 2026-07-28 for what is wrong with a request's headers and revision, and that of JSON-RPC for its method.
const (
	codeHeaderMismatch = -32020
	codeRevision       = -32022
	codeMethod         = -32601
)

// noRevision is one that no server speaks.
const noRevision = "2099-01-01"

// A Rule is one of how MCP 2026-07-28 is to be spoken over HTTP, and whether the target keeps it.
type Rule struct {
	Name   string
	Kept   bool
	Detail string // what came
}

// wire asks the target, which has said that it speaks MCP 2026-07-28, what that revision lets nobody get wrong. Each question differs
// in one thing from a request that is right; when that one is not answered, nothing is told.
func (c *client) wire(ctx context.Context) []Rule {
	control, err := c.odd(ctx, oddity{})
	if err != nil || control.result == nil {
		return nil
	}
	rules := []Rule{{"no session is begun", control.header.Get(headerSession) == "", sessionDetail(control)}}
	for _, q := range []struct {
		name    string
		oddity  oddity
		code    int
		status  int
		further func(*reply) bool
	}{
		{"a header that names another method than the body is refused", oddity{named: "tools/list"}, codeHeaderMismatch, http.StatusBadRequest, nil},
		{"a request without the header of its method is refused", oddity{unnamed: true}, codeHeaderMismatch, http.StatusBadRequest, nil},
		{"an unknown revision is refused, with those that are known", oddity{revision: noRevision}, codeRevision, http.StatusBadRequest, namesRevisions},
		{"an unknown method is not found", oddity{method: "runpython/" + authProbe()}, codeMethod, http.StatusNotFound, nil},
	} {
		r, err := c.odd(ctx, q.oddity)
		if err != nil {
			rules = append(rules, Rule{q.name, false, reason(err)})
			continue
		}
		if needsToken(r.status) {
			continue
		}
		kept := r.err != nil && r.err.Code == q.code && r.status == q.status && (q.further == nil || q.further(r))
		rules = append(rules, Rule{q.name, kept, fmt.Sprintf("HTTP %d, %s", r.status, r.says())})
	}
	if rule, told := c.noStream(ctx); told {
		rules = append(rules, rule)
	}
	list, err := c.odd(ctx, oddity{method: "tools/list"})
	if err == nil && list.result != nil {
		rules = append(rules, Rule{"a list says how long it may be kept, and that it is complete", hints(list.result), ""})
	}
	return rules
}

// An oddity is what is wrong with a request.
type oddity struct {
	method   string // in place of server/discover
	revision string // in place of the right one
	named    string // in the header, in place of method
	unnamed  bool   // the header is left out
}

// odd makes a request with something wrong, or nothing.
func (c *client) odd(ctx context.Context, o oddity) (*reply, error) {
	q := call{id: 1, method: "server/discover", revision: stateless}
	if o.method != "" {
		q.method = o.method
	}
	header, body := protocolHeaders(stateless), q.body()
	if o.revision != "" {
		header.Set(headerRevision, o.revision)
		body = strings.ReplaceAll(body, stateless, o.revision)
	}
	switch {
	case o.unnamed:
	case o.named != "":
		header.Set(headerMethod, o.named)
	default:
		header.Set(headerMethod, q.method)
	}
	r := &reply{}
	ask := request{method: http.MethodPost, url: c.target.url.String(), header: header, body: body, secrets: true}
	err := c.exchange(ctx, ask, func(_ string, resp *http.Response) error {
		r.status, r.header = resp.StatusCode, resp.Header
		return r.read(c.limited(resp.Body, maxBodyBytes+1), q.id)
	})
	return r, err
}

// needsToken reports whether a status says that who asks is looked at first, and what is asked not at all.
func needsToken(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// noStream asks for the stream of older revisions. Who has to sign in first is not told.
func (c *client) noStream(ctx context.Context) (rule Rule, told bool) {
	rule, told = Rule{Name: "there is no stream to GET"}, true
	ask := request{method: http.MethodGet, url: c.target.url.String(), header: http.Header{"Accept": {typeEvents}, headerRevision: {stateless}}, secrets: true}
	err := c.exchange(ctx, ask, func(_ string, resp *http.Response) error {
		rule.Kept, rule.Detail = resp.StatusCode == http.StatusMethodNotAllowed, fmt.Sprintf("HTTP %d", resp.StatusCode)
		told = !needsToken(resp.StatusCode)
		return nil
	})
	if err != nil {
		rule.Detail = reason(err)
	}
	return rule, told
}

func sessionDetail(r *reply) string {
	if r.header.Get(headerSession) == "" {
		return ""
	}
	return headerSession + " is sent"
}

// namesRevisions reports whether an error lists the revisions that are known.
func namesRevisions(r *reply) bool {
	var data struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(r.err.Data, &data) == nil && len(data.Supported) > 0
}

// hints reports whether a result has what caches need.
func hints(result json.RawMessage) bool {
	var list struct {
		Kept  *int64 `json:"ttlMs"`
		Scope string `json:"cacheScope"`
		Type  string `json:"resultType"`
	}
	return json.Unmarshal(result, &list) == nil && list.Kept != nil && *list.Kept >= 0 && (list.Scope == "public" || list.Scope == "private") && list.Type == "complete"
}
