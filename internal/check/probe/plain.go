package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// Plain is what the target's host does when it is asked without TLS, at port 80.
type Plain struct {
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
	p := &Plain{}
	err := c.exchange(ctx, request{method: http.MethodPost, url: u.String(), header: protocolHeaders(""), body: initializeBody(newestInitialize), stays: true},
		func(_ string, resp *http.Response) error {
			p.Listening, p.Status, p.Location = true, resp.StatusCode, resp.Header.Get("Location")
			return nil
		})
	if err != nil {
		p.Problem = reason(err)
		// Who refuses the connection, or lets nothing through, serves nothing there.
		dial, _ := errors.AsType[*net.OpError](err)
		p.Listening = !errors.Is(err, syscall.ECONNREFUSED) && (dial == nil || dial.Op != "dial") && !errors.Is(err, context.DeadlineExceeded)
	}
	if to, err := u.Parse(p.Location); err == nil && p.Location != "" {
		p.ToHTTPS = to.Scheme == "https"
		p.SameHost = strings.EqualFold(to.Hostname(), c.target.url.Hostname())
	}
	return p
}
