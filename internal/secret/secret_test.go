package secret_test

import (
	"testing"

	"runpython/internal/secret"
)

func TestSecrets(t *testing.T) {
	one, other := secret.New(secret.Access), secret.New(secret.Access)
	if one == other || !secret.Looks(one, secret.Access) || secret.Looks(one, secret.Refresh) || secret.Looks(one+"x", secret.Access) {
		t.Errorf("New() = %q, then %q", one, other)
	}
	d := secret.Digest(one)
	if !secret.Matches(one, d) || secret.Matches(other, d) || secret.Matches("", nil) {
		t.Errorf("Matches() does not tell %q from %q by %x", one, other, d)
	}
	if a, b := secret.Derived(one, "form"), secret.Derived(one, "other"); a == b || a == one || a != secret.Derived(one, "form") {
		t.Errorf("Derived() = %q, %q", a, b)
	}
}
