package identity

import (
	"context"
	"time"

	"runpython/internal/provider"
	"runpython/internal/store"
)

// What the tests see of the inside.

const (
	MaxAttempts = maxAttempts
	MaxWaiting  = maxWaiting
	MaxTokens   = maxTokens
)

// Attempts are attempts.
type Attempts struct{ *attempts }

func NewAttempts() Attempts { return Attempts{newAttempts()} }

func (a Attempts) Begin(account, address string, now time.Time) time.Duration {
	return a.begin(account, address, now)
}

func (a Attempts) Forgive(account, address string) { a.forgive(account, address) }

func (a Attempts) Len() int { return len(a.young) + len(a.old) }

// Crowd takes the places of those that wait to be hashed as well, until release is called.
func Crowd(s *Service) (release func()) { return fill(s.waiting, maxWaiting) }

// Occupy takes the places of those that are hashed, until release is called.
func Occupy(s *Service) (release func()) { return fill(s.hashing, maxHashing) }

func fill(places chan struct{}, n int) (release func()) {
	for range n {
		places <- struct{}{}
	}
	return func() {
		for range n {
			<-places
		}
	}
}

func (s *Service) UserOfPerson(ctx context.Context, p provider.Person, address string) (store.User, error) {
	return s.userOf(ctx, p, address)
}
