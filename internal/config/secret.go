package config

import (
	"fmt"
	"io"
	"log/slog"
)

// A Secret is text that must not be printed. Every way of formatting, logging
// and encoding it gives "***" ("" when it is empty); only [Secret.Reveal] gives
// the text. The zero value is the empty secret.
type Secret struct {
	text string
}

const hidden = "***"

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal returns the text, to hand it to what needs it.
func (s Secret) Reveal() string { return s.text }

// String returns "***", or "" when the secret is empty.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return hidden
}

// Format prints what String returns, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, s.String()) // fmt.State keeps the error of its writer
}

// LogValue logs what String returns.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText encodes what String returns, in JSON and YAML as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
