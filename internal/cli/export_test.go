package cli

import (
	"context"
	"time"
)

// SafePath is what makes a name of a guest safe.
func SafePath(name string) string { return safePath(name) }

// Repeat is what check watch does between scans.
func Repeat(ctx context.Context, every time.Duration, count int, once func() error) error {
	return repeat(ctx, every, count, once)
}

// SaidError returns an error that ends a command with this code when everything was said.
func SaidError(code int) error { return saidError{code} }

// ValidatorTime is when signatures must be valid for check, by the plan that all its scans are made by.
func ValidatorTime(resolver string) (time.Time, error) {
	v, err := (&checkFlags{resolver: resolver}).validator()
	if err != nil {
		return time.Time{}, err
	}
	return v.Now, nil
}
