package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"runpython/internal/fault"
)

// Parameters of Argon2id: the first of those that OWASP's Password Storage Cheat Sheet names as the least, all as strong as each
// other. One pass over much memory keeps a server for a few people small and fast: a hash takes 46 MiB and some 50 ms.
const (
	argonPasses  = 1
	argonKiB     = 46 << 10
	argonThreads = 1
	saltBytes    = 16
	hashBytes    = 32

	// maxHashing is how many passwords are hashed at once, 92 MiB in all; maxWaiting is how many wait for it, those included.
	maxHashing = 2
	maxWaiting = 16
)

// Bounds of a password. It may be a sentence (NIST SP 800-63B, 3.1.1.2).
const (
	passwordLeast = 10 // characters
	passwordMost  = 256
	// passwordBytes is what those take at most, when each is written as three of four bytes.
	passwordBytes = 12 * passwordMost
)

// errBusy is told when too many sign in at once.
func errBusy() error {
	return fault.New(fault.Busy, nil, "too many people sign in at the moment: try again in a few seconds")
}

// A PasswordError is why a new password cannot be one; it is a fault.Invalid.
type PasswordError struct{ shown *fault.Error }

// Error implements error.
func (e *PasswordError) Error() string { return e.shown.Error() }

// Unwrap returns what may be shown.
func (e *PasswordError) Unwrap() error { return e.shown }

func badPassword(message string) error {
	return &PasswordError{fault.New(fault.Invalid, nil, message)}
}

// checkPassword says what is wrong with a new password.
func checkPassword(text, name string) error {
	n := utf8.RuneCountInString(norm.NFC.String(text))
	switch {
	case !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\n"):
		return badPassword("the password must be one line of UTF-8 text")
	case n < passwordLeast || n > passwordMost:
		return badPassword(fmt.Sprintf("the password must have %d to %d characters", passwordLeast, passwordMost))
	case strings.EqualFold(text, name) || strings.Count(text, text[:1]) == len(text):
		return badPassword("the password must not be the name, nor one letter again and again")
	}
	return nil
}

// hash returns what is kept of a password, with its parameters.
func (s *Service) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	rand.Read(salt) // it never returns an error
	sum, err := s.argon(ctx, password, salt)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonKiB, argonPasses, argonThreads, b64.EncodeToString(salt), b64.EncodeToString(sum)), nil
}

// matches reports whether a password is the one that was hashed. An empty hash takes as long and is nobody's.
func (s *Service) matches(ctx context.Context, password, hashed string) (bool, error) {
	salt, want := make([]byte, saltBytes), make([]byte, hashBytes)
	if hashed != "" {
		var err error
		if salt, want, err = parseHash(hashed); err != nil {
			return false, err
		}
	}
	sum, err := s.argon(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(sum, want) == 1 && hashed != "", nil
}

// errHash means that the database has a hash that this program has not written.
var errHash = errors.New("the hash of a password has parameters that this program does not use")

// parseHash reads what hash has written. Other parameters are not used by any version so far.
func parseHash(hashed string) (salt, sum []byte, err error) {
	parts := strings.Split(hashed, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) || parts[3] != fmt.Sprintf("m=%d,t=%d,p=%d", argonKiB, argonPasses, argonThreads) {
		return nil, nil, errHash
	}
	salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil || len(salt) != saltBytes {
		return nil, nil, errHash
	}
	sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(sum) != hashBytes {
		return nil, nil, errHash
	}
	return salt, sum, nil
}

// argon hashes when it is its turn.
func (s *Service) argon(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		return nil, errBusy()
	}
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("hash a password: %w", context.Cause(ctx))
	}
	// A letter with an accent is one character or two, by who typed it (RFC 8265, 4.2): both are the same password.
	return argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, argonPasses, argonKiB, argonThreads, hashBytes), nil
}
