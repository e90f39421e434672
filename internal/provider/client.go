package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"

	"runpython/internal/excerpt"
)

// Bounds of each answer of the provider.
const (
	answerTime  = 10 * time.Second
	answerBytes = 512 << 10
	headerBytes = 64 << 10
	// causeBytes bounds what of its words is logged.
	causeBytes = 300
)

// NewClient returns a client for the provider of an issuer, through the proxy of the environment if there is one. Answers are bounded, no
// redirect is followed, and everything is https unless the issuer itself is not.
func NewClient(issuer string) *http.Client {
	return &http.Client{
		Timeout:       answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &bounded{issuer: issuer, next: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: answerTime, ResponseHeaderTimeout: answerTime, MaxResponseHeaderBytes: headerBytes,
			IdleConnTimeout: time.Minute, MaxIdleConns: 4, ForceAttemptHTTP2: true,
		}},
	}
}

// mayAsk reports whether a URL is safe enough for a provider: https, or what the issuer is, which the operator has chosen.
func mayAsk(issuer string, u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http://")
}

// bounded is the transport of NewClient.
type bounded struct {
	issuer string
	next   *http.Transport
}

// An awayError is why the provider is not to be asked now.
type awayError struct{ cause error }

// Error implements error.
func (e *awayError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *awayError) Unwrap() error { return e.cause }

// CloseIdleConnections is that of the transport beneath.
func (b *bounded) CloseIdleConnections() { b.next.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !mayAsk(b.issuer, r.URL) {
		return nil, errors.New("the URL is not https")
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "runpython")
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, &awayError{err}
	}
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests {
		return nil, &awayError{errors.Join(errors.New("status "+strconv.Itoa(res.StatusCode)), res.Body.Close())}
	}
	res.Body = &boundedBody{ReadCloser: res.Body, left: answerBytes}
	return res, nil
}

// boundedBody fails when it is larger than an answer may be.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(to []byte) (int, error) {
	if len(to) > b.left+1 {
		to = to[:b.left+1]
	}
	n, err := b.ReadCloser.Read(to)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", answerBytes)
	}
	return n, err //nolint:wrapcheck // a reader
}

// brief makes an error one that can be logged: without the bodies of answers, which may have tokens in them, and not endless.
func brief(err error) error {
	if err == nil {
		return nil
	}
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("redeem a code: status %d, error %.100q", answer.Response.StatusCode, answer.ErrorCode)
	}
	return errors.New(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, excerpt.Head(strings.ToValidUTF8(err.Error(), "?"), causeBytes)))
}
