package identity_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/fault"
	"runpython/internal/identity"
)

// What an administrator does to others is recorded as the administrator's doing.
func TestAdministrators(t *testing.T) {
	f := newFixture(t)
	root, ann := f.add("olga"), f.add("ann")
	by := identity.Admin{User: root, Address: home}
	if _, err := f.CreateToken(t.Context(), identity.NewToken{Name: "job", User: "ann", Scopes: "run", Expires: time.Hour}); err != nil {
		t.Fatal(err)
	}
	grants, err := f.Grants(t.Context(), ann)
	if err != nil || len(grants) != 1 {
		t.Fatalf("grants = %v, %v", grants, err)
	}
	kind(t, "revoking of somebody else", f.RevokeBy(t.Context(), by, grants[0].ID, root.ID), fault.NotFound, "not connected")
	f.done = nil
	for what, err := range map[string]error{
		"revoke": f.RevokeBy(t.Context(), by, grants[0].ID, ann.ID), "disable": f.DisableBy(t.Context(), by, ann.ID, true), "enable": f.DisableBy(t.Context(), by, ann.ID, false),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	slices.Sort(f.done)
	want := []string{
		"grant_revoked by olga: ann/" + grants[0].ID, "user_disabled by olga: ann", "user_enabled by olga: ann",
	}
	for i := range f.done {
		f.done[i] = strings.ReplaceAll(f.done[i], root.ID, "olga")
	}
	if !slices.Equal(f.done, want) {
		t.Errorf("recorded is %q, want %q", f.done, want)
	}
	kind(t, "oneself", f.DisableBy(t.Context(), by, root.ID, true), fault.Invalid, "your own account")
	kind(t, "nobody", f.DisableBy(t.Context(), by, "x", true), fault.NotFound, "no such user")
}
