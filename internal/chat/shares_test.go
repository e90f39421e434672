package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
)

// askAs runs a turn of an owner and returns the id of the chat, "" when there is none.
func askAs(t *testing.T, s *chat.Service, owner, id, word string) string {
	t.Helper()
	reply, err := s.Turn(t.Context(), chat.Request{Owner: owner, ChatID: id, Message: do(word)})
	if err != nil {
		t.Fatal(err)
	}
	return reply.ChatID
}

// remaining tells which of some chats are there, by their owners.
func remaining(t *testing.T, s *chat.Service, owners, ids []string) []bool {
	t.Helper()
	there := make([]bool, len(ids))
	for i, id := range ids {
		_, err := s.Transcript(t.Context(), owners[i], id)
		there[i] = err == nil
	}
	return there
}

// Who has more chats than an account may have loses their own, the one unused longest first, and nobody else's; the
// local user has no such bound.
func TestChatsOfAnOwnerAreBounded(t *testing.T) {
	s, _ := keeping(t, func(l *chat.Limits) { l.Chats, l.OwnerChats = 9, 2 })
	owners := []string{"alice", "bob", "alice", "", "alice", "", "alice", "", ""}
	var ids []string
	for _, owner := range owners {
		ids = append(ids, askAs(t, s, owner, "", "set x"))
	}
	askAs(t, s, "carol", "", "set x") // as many as there may be: old ones are looked for
	want := []bool{false, true, false, true, true, true, true, true, true}
	if d := cmp.Diff(want, remaining(t, s, owners, ids)); d != "" {
		t.Errorf("chats of %q that are there (-want +got):\n%s", owners, d)
	}
}

// The same with the size of what an account keeps.
func TestStorageOfAnOwnerIsBounded(t *testing.T) {
	s, _ := keeping(t, func(l *chat.Limits) { l.Chats, l.OwnerStorage = 6, 8000 })
	owners := []string{"alice", "bob", "alice", "", "", "alice"}
	var ids []string
	for _, owner := range owners {
		id := askAs(t, s, owner, "", "set x")
		if _, err := s.PutFile(t.Context(), owner, id, "f", strings.NewReader(id+strings.Repeat("x", 5000))); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	askAs(t, s, "carol", "", "set x")
	want := []bool{false, true, false, true, true, true}
	if d := cmp.Diff(want, remaining(t, s, owners, ids)); d != "" {
		t.Errorf("chats of %q that are there (-want +got):\n%s", owners, d)
	}
}
