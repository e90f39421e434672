package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Plain is what the target's host does when it is asked without TLS, at port 80.
type Plain struct {
	Asked     bool   // the scan did not end before
	Listening bool   // something accepts connections
	Problem   string // why there is no answer, or ""
	Status    int
	Location  string
	// ToHTTPS: Location is https. SameHost: it stays on the target's host.
	ToHTTPS  bool
	SameHost bool
}

// plain asks for the target's path without TLS.
func (c *client) plain(ctx context.Context) *Plain {
	u := url.URL{Scheme: "http", Host: c.target.url.Hostname(), Path: c.target.url.Path}
	if strings.Contains(u.Host, ":") {
		u.Host = "[" + u.Host + "]"
	}
	p := &Plain{Asked: true}
	err := c.exchange(ctx, request{method: http.MethodPost, url: u.String(), header: protocolHeaders(""), body: initializeBody(newestInitialize), stays: true},
		func(_ string, resp *http.Response) error {
			p.Listening, p.Status, p.Location = true, resp.StatusCode, resp.Header.Get("Location")
			return nil
		})
	if err != nil {
		p.Problem = reason(err)
		p.Asked = ctx.Err() == nil
		// Who refuses the connection, or lets nothing through, serves nothing there; who takes it and is silent does.
		dial, _ := errors.AsType[*net.OpError](err)
		p.Listening = p.Asked && (dial == nil || dial.Op != "dial")
	}
	if to, err := u.Parse(p.Location); err == nil && p.Location != "" {
		p.ToHTTPS = to.Scheme == "https"
		p.SameHost = strings.EqualFold(to.Hostname(), c.target.url.Hostname())
	}
	return p
}
