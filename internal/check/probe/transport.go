package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// What is read of lists at most.
const (
	maxPages   = 50
	maxItems   = 5000
	maxCursor  = 4096
	maxStreams = 64 << 10 // of a stream of events whose first one is waited for
)

// An Outcome is how a handshake ended.
type Outcome string

// The outcomes of a handshake.
const (
	Accepted Outcome = "accepted"
	Offered  Outcome = "offered another"
	Locked   Outcome = "needs credentials"
	Refused  Outcome = "refused"
	Failed   Outcome = "failed" // nothing came, or nothing of MCP
)

// A Try is one handshake.
type Try struct {
	Revision string
	Outcome  Outcome
	Offered  string // by the server, instead
	Status   int    // of HTTP, 0 when nothing came
	Detail   string
}

// A Server is what the target says about itself.
type Server struct {
	Name, Title, Version string
	Instructions         string
}

// Transport is how the target speaks MCP, and what it lists.
type Transport struct {
	Tries   []Try       // newest revision first
	Headers http.Header // of the first answer that came, whatever it was
	SSE     bool        // the HTTP+SSE transport of 2024-11-05

	Revision  string // by which the following was read, "" when none was agreed
	Events    bool   // answers came as streams of events
	Server    Server
	Tools     List
	Resources List
	Prompts   List
}

// A List is what one of the lists of the target has.
type List struct {
	Declared bool // the target's capabilities name it
	Items    []json.RawMessage
	Pages    int
	Problem  string // why it could not be read, or not to its end
}

// Accepted returns the revisions that the target speaks, newest first.
func (t *Transport) Accepted() []string {
	var all []string
	for _, try := range t.Tries {
		if try.Outcome == Accepted {
			all = append(all, try.Revision)
		}
	}
	return all
}

// Locked reports whether no handshake was accepted and one was refused for want of credentials.
func (t *Transport) Locked() bool {
	locked := false
	for _, try := range t.Tries {
		if try.Outcome == Accepted {
			return false
		}
		locked = locked || try.Outcome == Locked
	}
	return locked
}

// A session is an agreement with the target.
type session struct {
	client   *client
	secrets  bool
	revision string
	id       string // "" without sessions
	events   bool
	hello    hello
}

// A hello is the result of initialize and of server/discover.
type hello struct {
	ProtocolVersion   string                     `json:"protocolVersion"`
	SupportedVersions []string                   `json:"supportedVersions"`
	Capabilities      map[string]json.RawMessage `json:"capabilities"`
	ServerInfo        serverInfo                 `json:"serverInfo"`
	Instructions      string                     `json:"instructions"`
	Meta              struct {
		ServerInfo serverInfo `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// transport shakes hands in every revision and reads the lists by the newest that is accepted.
func (c *client) transport(ctx context.Context) Transport {
	revisions := Revisions()
	t := Transport{Tries: make([]Try, len(revisions))}
	sessions := make([]*session, len(revisions))
	headers := make([]http.Header, len(revisions))
	var all sync.WaitGroup
	for i, revision := range revisions {
		all.Go(func() { sessions[i], headers[i], t.Tries[i] = c.shake(ctx, revision, true) })
	}
	all.Wait()
	for i, s := range sessions {
		if t.Headers == nil {
			t.Headers = headers[i]
		}
		if s == nil {
			continue
		}
		if t.Revision == "" {
			t.Revision = s.revision
			t.Events = s.events
			t.Server = s.hello.server()
			s.lists(ctx, &t)
		}
		s.end(ctx)
	}
	if t.Revision == "" && !t.Locked() {
		t.SSE = c.sse(ctx)
	}
	return t
}

// shake shakes hands in one revision. The session is nil unless that one was accepted; the caller ends it.
func (c *client) shake(ctx context.Context, revision string, secrets bool) (*session, http.Header, Try) {
	try := Try{Revision: revision, Outcome: Failed}
	q := initializeCall(revision)
	if revision == stateless {
		q = call{id: 1, method: "server/discover", revision: revision}
	}
	q.secrets = secrets
	r, err := c.rpc(ctx, q)
	if err != nil {
		try.Detail = reason(err)
		return nil, nil, try
	}
	try.Status, try.Detail = r.status, r.says()
	s := &session{client: c, secrets: secrets, revision: revision, id: sessionOf(r.header), events: r.events}
	switch {
	case r.locked():
		try.Outcome = Locked
	case r.err != nil:
		try.Outcome = Refused
	case r.result == nil:
	case json.Unmarshal(r.result, &s.hello) != nil:
		try.Detail = "its result has another form than MCP's"
	case revision == stateless:
		try.Outcome = Refused
		for _, v := range s.hello.SupportedVersions {
			if v == stateless {
				try.Outcome, try.Detail = Accepted, ""
			}
		}
	case s.hello.ProtocolVersion == revision:
		try.Outcome, try.Detail = Accepted, ""
	default:
		try.Outcome, try.Offered, try.Detail = Offered, s.hello.ProtocolVersion, ""
	}
	if try.Outcome != Accepted {
		s.revision = withHeader // of whatever session there is, only its end
		s.end(ctx)
		return nil, r.header, try
	}
	if revision != stateless {
		if _, err := s.send(ctx, call{method: "notifications/initialized"}); err != nil {
			try.Outcome, try.Detail = Failed, "notifications/initialized: "+reason(err)
			return nil, r.header, try
		}
	}
	return s, r.header, try
}

// send makes a call in the session.
func (s *session) send(ctx context.Context, q call) (*reply, error) {
	q.revision, q.session, q.secrets = s.revision, s.id, s.secrets
	return s.client.rpc(ctx, q)
}

// end ends the session of a server that has sessions. Whether it can is not known and does not matter.
func (s *session) end(ctx context.Context) {
	if s.id == "" {
		return
	}
	header := protocolHeaders(s.revision)
	header.Set(headerSession, s.id)
	_, _ = s.client.do(ctx, request{method: http.MethodDelete, url: s.client.target.url.String(), header: header, secrets: s.secrets})
}

// server returns what the hello says of the server.
func (h *hello) server() Server {
	info := h.ServerInfo
	if info.Name == "" {
		info = h.Meta.ServerInfo
	}
	return Server{Name: info.Name, Title: info.Title, Version: info.Version, Instructions: h.Instructions}
}

// lists reads the three lists.
func (s *session) lists(ctx context.Context, t *Transport) {
	t.Tools = s.list(ctx, "tools")
	t.Resources = s.list(ctx, "resources")
	t.Prompts = s.list(ctx, "prompts")
}

// list reads the pages of a list.
func (s *session) list(ctx context.Context, name string) List {
	return s.hello.list(name, func(q call) (*reply, error) { return s.send(ctx, q) })
}

// list reads the pages of a list by calls of a session.
func (h *hello) list(name string, send func(call) (*reply, error)) List {
	l := List{}
	if _, l.Declared = h.Capabilities[name]; !l.Declared {
		return l
	}
	cursor := ""
	for id := 2; ; id++ {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		r, err := send(call{id: id, method: name + "/list", params: params})
		if err != nil {
			l.Problem = reason(err)
			return l
		}
		next := ""
		if next, l.Problem = l.page(r, name); l.Problem != "" {
			return l
		}
		switch {
		case len(l.Items) > maxItems:
			l.Items, l.Problem = l.Items[:maxItems], fmt.Sprintf("it has more than %d entries", maxItems)
			return l
		case next == "":
			return l
		case next == cursor || len(next) > maxCursor:
			l.Problem = "its cursors lead nowhere"
			return l
		case l.Pages == maxPages:
			l.Problem = fmt.Sprintf("it has more than %d pages", maxPages)
			return l
		}
		cursor = next
	}
}

// page adds the entries of one answer and returns the cursor of the next, "" when there is none.
func (l *List) page(r *reply, name string) (next, problem string) {
	if r.result == nil {
		return "", r.says()
	}
	var page map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(r.result, &page) != nil || json.Unmarshal(page[name], &items) != nil {
		return "", "its result has no list of " + name
	}
	if raw := page["nextCursor"]; raw != nil && json.Unmarshal(raw, &next) != nil {
		return "", "nextCursor is no text"
	}
	l.Pages++
	l.Items = append(l.Items, items...)
	return next, ""
}

// sse reports whether the target speaks the transport of 2024-11-05: a stream whose first event is the endpoint to
// post to.
func (c *client) sse(ctx context.Context) bool {
	found := false
	ask := request{method: http.MethodGet, url: c.target.url.String(), header: http.Header{"Accept": {typeEvents}}, secrets: true}
	err := c.exchange(ctx, ask, func(_ string, resp *http.Response) error {
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), typeEvents) {
			return nil
		}
		lines := bufio.NewScanner(c.limited(resp.Body, maxStreams))
		for lines.Scan() {
			if event, ok := strings.CutPrefix(lines.Text(), "event:"); ok {
				found = strings.TrimSpace(event) == "endpoint"
				return nil
			}
		}
		return lines.Err() //nolint:wrapcheck // only whether there is one counts
	})
	return err == nil && found
}
