package chat_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/extent"
)

// Who keeps the audit log hears how many chats each rule has deleted.
func TestDeletionsAreTold(t *testing.T) {
	extent.Slow(t)
	for name, test := range map[string]struct {
		limit  func(*chat.Limits)
		owners []string // of the chats, each with a file of 5000 bytes
		wait   time.Duration
		want   map[chat.Rule]int
	}{
		"none":          {func(*chat.Limits) {}, []string{"", ""}, 2 * time.Minute, map[chat.Rule]int{}},
		"age":           {func(*chat.Limits) {}, []string{"", "ann"}, 3 * time.Hour, map[chat.Rule]int{chat.ByAge: 2}},
		"chats":         {func(l *chat.Limits) { l.Chats = 2 }, []string{"", ""}, 0, map[chat.Rule]int{chat.ByChats: 1}},
		"storage":       {func(l *chat.Limits) { l.Storage = 12_000 }, []string{"", "ann", "bob"}, 2 * time.Minute, map[chat.Rule]int{chat.ByStorage: 1}},
		"owner chats":   {func(l *chat.Limits) { l.OwnerChats = 1 }, []string{"ann", "ann", "ann", "bob"}, 2 * time.Minute, map[chat.Rule]int{chat.ByOwnerChats: 2}},
		"owner storage": {func(l *chat.Limits) { l.OwnerStorage = 8_000 }, []string{"ann", "bob", "ann"}, 2 * time.Minute, map[chat.Rule]int{chat.ByOwnerStorage: 1}},
		"two at once":   {func(l *chat.Limits) { l.OwnerChats, l.Chats = 2, 4 }, []string{"", "ann", "ann", "ann"}, 0, map[chat.Rule]int{chat.ByChats: 1, chat.ByOwnerChats: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				told := map[chat.Rule]int{}
				s, _ := newService(t, func(o *chat.Options) {
					test.limit(&o.Limits)
					o.Deleted = func(_ context.Context, rule chat.Rule, chats int) {
						mu.Lock()
						defer mu.Unlock()
						told[rule] += chats
					}
				})
				for _, owner := range test.owners {
					id := askAs(t, s, owner, "", "set x")
					if _, err := s.PutFile(t.Context(), owner, id, "f", strings.NewReader(id+strings.Repeat("x", 5000-len(id)))); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second) //nolint:forbidigo // the time of synctest: the order of use decides
				}
				time.Sleep(test.wait) //nolint:forbidigo // the time of synctest
				askAs(t, s, "carol", "", "set x")
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(test.want, told); diff != "" {
					t.Errorf("chats that were deleted (-want +got):\n%s", diff)
				}
			})
		})
	}
}
