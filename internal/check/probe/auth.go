package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// What of a target's metadata is looked at.
const (
	maxIssuers = 3 // authorization servers that are asked
	maxMethods = 5 // ways to send a token
)

// Auth is what the target does for who brings no credentials, and what it says about how to get some.
type Auth struct {
	Opened     bool   // a handshake was accepted
	Listed     int    // tools that were listed
	CallStatus int    // of a call of a tool that does not exist, 0 when none was made
	CallDetail string // what came of it
	// Called: the call was looked at as one, so a tool that exists would have run.
	Called     bool
	Refused    bool        // the call was answered by 401 or 403
	Challenges []Challenge // of the first answer that has some
	Challenged bool        // an answer was 401 or 403

	Resource *Resource // nil: no metadata were asked for
	Issuers  []Issuer
}

// Resource is the target's metadata (RFC 9728).
type Resource struct {
	URL     string // where they are, or were looked for last
	Status  int
	Problem string // why they are not valid, or ""
	Issuers []string
	Bearer  []string // bearer_methods_supported
}

// An Issuer is an authorization server's metadata (RFC 8414, or OpenID Connect Discovery).
type Issuer struct {
	Issuer       string
	URL          string
	Problem      string // why they are not valid, or ""
	Documents    bool   // client_id_metadata_document_supported
	Registration bool   // registration_endpoint
	NamesItself  bool   // authorization_response_iss_parameter_supported (RFC 9207)
}

// auth asks without credentials: hello, the list of tools, and a tool that does not exist.
func (c *client) auth(ctx context.Context, nobody string) Auth {
	var a Auth
	note := func(status int, h http.Header) {
		if needsToken(status) {
			a.Challenged = true
			if len(a.Challenges) == 0 {
				a.Challenges = challenges(h)
			}
		}
	}
	s := c.open(ctx, note)
	if s != nil {
		a.Opened = true
		if r, err := s.send(ctx, call{id: 2, method: "tools/list", params: map[string]any{}}); err == nil {
			var list struct {
				Tools []json.RawMessage `json:"tools"`
			}
			if json.Unmarshal(r.result, &list) == nil {
				a.Listed = len(list.Tools)
			}
			note(r.status, r.header)
		}
		r, err := s.send(ctx, call{id: 3, method: "tools/call", params: map[string]any{"name": nobody, "arguments": map[string]any{}}})
		if err == nil {
			a.CallStatus, a.CallDetail = r.status, r.says()
			a.Refused = needsToken(r.status)
			a.Called = r.answered() && !a.Refused
			note(r.status, r.header)
		} else {
			a.CallDetail = reason(err)
		}
		s.end(ctx)
	}
	if a.Challenged {
		a.Resource = c.resource(ctx, a.Challenges)
		for _, issuer := range a.Resource.Issuers {
			a.Issuers = append(a.Issuers, c.issuer(ctx, issuer))
		}
	}
	return a
}

// open shakes hands without credentials, in the newest revision that is accepted.
func (c *client) open(ctx context.Context, note func(int, http.Header)) *session {
	for _, revision := range Revisions() {
		s, h, try := c.shake(ctx, revision, false)
		if s != nil {
			return s
		}
		if try.Outcome == Locked {
			note(try.Status, h)
		}
	}
	return nil
}

// resource looks for the target's metadata: where a challenge says, and at both places of RFC 9728, 3.1.
func (c *client) resource(ctx context.Context, all []Challenge) *Resource {
	var candidates []string
	for _, ch := range all {
		if hint := ch.Parameters["resource_metadata"]; hint != "" {
			candidates = append(candidates, hint)
		}
	}
	hinted := len(candidates)
	root := c.target.url
	root.Path, root.RawPath = "", ""
	for _, place := range []string{wellKnown(c.target.url, "oauth-protected-resource"), wellKnown(root, "oauth-protected-resource")} {
		if !slices.Contains(candidates, place) {
			candidates = append(candidates, place)
		}
	}
	var first *Resource
	for _, place := range candidates[:min(len(candidates), hinted+2, 4)] {
		r := &Resource{URL: place}
		r.Problem = c.readResource(ctx, r)
		if r.Problem == "" {
			return r
		}
		if first == nil || first.Status != http.StatusOK && r.Status == http.StatusOK {
			first = r
		}
	}
	return first
}

// readResource reads metadata and returns what is wrong with them.
func (c *client) readResource(ctx context.Context, r *Resource) string {
	var doc struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Bearer   []string `json:"bearer_methods_supported"`
	}
	status, problem := c.document(ctx, r.URL, &doc)
	r.Status = status
	if problem != "" {
		return problem
	}
	r.Bearer = doc.Bearer[:min(len(doc.Bearer), maxMethods)]
	r.Issuers = doc.Servers[:min(len(doc.Servers), maxIssuers)]
	switch {
	case !c.target.isResource(doc.Resource):
		return fmt.Sprintf("resource is %q, not the URL of the endpoint", doc.Resource)
	case !slices.ContainsFunc(r.Issuers, func(i string) bool { return strings.HasPrefix(i, "https://") }):
		return "authorization_servers names none with https"
	}
	return ""
}

// issuer looks for the metadata of an authorization server, at the three places where they may be.
func (c *client) issuer(ctx context.Context, name string) Issuer {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || u.Scheme != "https" {
		return Issuer{Issuer: name, Problem: "it is no https URL"}
	}
	places := []string{wellKnown(*u, "oauth-authorization-server"), wellKnown(*u, "openid-configuration")}
	if appended := strings.TrimSuffix(name, "/") + "/.well-known/openid-configuration"; !slices.Contains(places, appended) {
		places = append(places, appended)
	}
	var last Issuer
	for _, place := range places {
		last = Issuer{Issuer: name, URL: place}
		var doc issuerDocument
		if _, last.Problem = c.document(ctx, place, &doc); last.Problem != "" {
			continue
		}
		last.Documents, last.Registration, last.NamesItself = doc.Documents, doc.Registration != "", doc.NamesItself
		last.Problem = doc.problem(name)
		return last
	}
	return last
}

// An issuerDocument is what is read of an authorization server's metadata.
type issuerDocument struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	PKCE          []string `json:"code_challenge_methods_supported"`
	Responses     []string `json:"response_types_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	NamesItself   bool     `json:"authorization_response_iss_parameter_supported"`
}

// problem returns what is wrong with the metadata of the issuer of this name, or "".
func (d *issuerDocument) problem(name string) string {
	switch {
	case strings.TrimSuffix(d.Issuer, "/") != strings.TrimSuffix(name, "/"):
		return fmt.Sprintf("issuer is %q, another than where it was found", d.Issuer)
	case !strings.HasPrefix(d.Authorization, "https://") || !strings.HasPrefix(d.Token, "https://"):
		return "authorization_endpoint and token_endpoint are not both https"
	case !slices.Contains(d.PKCE, "S256"):
		return "code_challenge_methods_supported has no S256"
	case !slices.Contains(d.Responses, "code"):
		return "response_types_supported has no code"
	}
	return ""
}

// document reads a JSON document into doc and returns what is wrong with it.
func (c *client) document(ctx context.Context, place string, doc any) (status int, problem string) {
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !c.target.isOrigin(u) {
		return 0, "its URL is neither https nor of the endpoint's origin"
	}
	a, err := c.do(ctx, request{method: http.MethodGet, url: place, header: http.Header{"Accept": {typeJSON}}, most: maxDocumentBytes})
	switch {
	case err != nil:
		return 0, reason(err)
	case a.status != http.StatusOK:
		return a.status, fmt.Sprintf("HTTP %d", a.status)
	case a.cut:
		return a.status, fmt.Sprintf("it is larger than %d bytes", maxDocumentBytes)
	case json.Unmarshal(a.body, doc) != nil:
		return a.status, "it is no JSON of the form that is prescribed"
	}
	return a.status, ""
}
