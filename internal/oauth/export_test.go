package oauth

// What the tests see of the inside.

var (
	CheckRedirect     = checkRedirect
	MatchRedirect     = matchRedirect
	CheckDocumentURL  = checkDocumentURL
	ParseRegistration = func(text []byte) (*Metadata, bool) {
		m, bad := parseRegistration(text)
		if bad == nil {
			bad = m.complete()
		}
		return m, bad == nil
	}
	ReadDocument = func(id string, text []byte) (*Client, bool) {
		c, bad := readDocument(id, text)
		return c, bad == nil
	}
	ShownName = shownName
)

const (
	DocumentBytes   = documentBytes
	CachedDocuments = cachedDocuments
)
