// Package secret makes the secrets that are given to somebody, who shows them later as a proof: tokens, codes, cookies, the
// secrets of forms and of clients.
//
// # Trust
//
// Each has 256 random bits, so that it cannot be guessed, and only its SHA-256 is kept: who reads the database has none of
// them. What somebody shows may be any text.
//
// # Failure
//
// There is none: the system gives random bits, or ends the program.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"

	"runpython/internal/store"
)

// The kinds of secrets. They begin with it, so that people, logs and scanners of secrets can tell what they see.
const (
	Access  = "rp_at_" // an access token that a client got
	Machine = "rp_mt_" // an access token that was made at the command line
	Refresh = "rp_rt_"
	Code    = "rp_ac_"
	Client  = "rp_cs_" // the secret of a client
	Browser = "rp_bs_" // the cookie of a browser that is signed in
	Form    = "rp_fm_"
	Setup   = "rp_su_"
	SignIn  = "rp_si_" // the state of a sign-in through a provider
	Nonce   = "rp_no_"
)

// randomBytes is how many of them a secret has.
const randomBytes = 32

// New returns a secret of a kind. It needs no escaping in URLs, headers and cookies.
func New(kind string) string {
	random := make([]byte, randomBytes)
	rand.Read(random) // it never returns an error
	return kind + base64.RawURLEncoding.EncodeToString(random)
}

// Looks reports whether a text may be a secret of a kind, so that nothing else needs to be looked up.
func Looks(text, kind string) bool {
	rest, ok := strings.CutPrefix(text, kind)
	return ok && len(rest) == base64.RawURLEncoding.EncodedLen(randomBytes)
}

// Digest returns what is kept of a secret.
func Digest(text string) store.Digest {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Matches reports, in a time that does not tell how far it is right, whether a text is the secret of a digest.
// The empty digest has none.
func Matches(text string, d store.Digest) bool {
	return len(d) > 0 && subtle.ConstantTimeCompare(Digest(text), d) == 1
}

// Derived returns a second secret that goes with a first one and does not tell it: the one of forms at a browser.
func Derived(text, purpose string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
