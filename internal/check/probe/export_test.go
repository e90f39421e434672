package probe

import (
	"net/http"
	"strings"
)

// ParseChallenges reads a WWW-Authenticate header.
var ParseChallenges = parseChallenges

// ReadReply reads an answer to the call 1, of a content type, and returns its result and what is wrong with it.
func ReadReply(kind, body string) (result, problem string, err error) {
	r := &reply{status: http.StatusOK, header: http.Header{"Content-Type": {kind}}}
	err = r.read(strings.NewReader(body), 1)
	if r.err != nil {
		return "", r.says(), err
	}
	return string(r.result), r.problem, err
}
