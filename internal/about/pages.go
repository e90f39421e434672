package about

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"
)

// CardPath is where the card is served: SEP-2127 reserves /server-card behind the
// URL of the endpoint.
const CardPath = "/mcp/server-card"

// LLMsPath is where llms.txt is served.
const LLMsPath = "/llms.txt"

// Pages returns the handler of CardPath and LLMsPath. url is as for Card. Pages of
// any origin may read them, as SEP-2127 demands: they tell nothing of anybody.
func Pages(url string) http.Handler {
	mux := http.NewServeMux()
	card := newPage("application/mcp-server-card+json", Card(url))
	if url != "" {
		card.sharing = "private" // the URL may differ by how the page was reached
	}
	mux.Handle(CardPath, card)
	mux.Handle(LLMsPath, newPage("text/plain; charset=utf-8", LLMs()))
	return mux
}

// A page is a document that does not change while the program runs.
type page struct {
	mediaType string
	content   []byte
	tag       string
	sharing   string // whose caches may keep it: "public" or "private"
}

func newPage(mediaType string, content []byte) page {
	return page{mediaType, content, fmt.Sprintf(`"%.16x"`, sha256.Sum256(content)), "public"}
}

// ServeHTTP implements [http.Handler].
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Content-Type, If-None-Match")
	h.Set("Access-Control-Expose-Headers", "ETag")
	h.Set("X-Content-Type-Options", "nosniff")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "this page can only be read, with GET", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Cache-Control", p.sharing+", max-age=3600")
	h.Set("Content-Type", p.mediaType)
	h.Set("ETag", p.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.content))
}
