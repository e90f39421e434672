package providertest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"runpython/internal/servertest"
)

// ZitadelVariable names the program of the real provider, which .ci/zitadel builds.
const ZitadelVariable = "RUNPYTHON_TEST_ZITADEL"

// What the real provider knows.
const (
	ZitadelClient   = "web"
	ZitadelSecret   = "secret"
	ZitadelPassword = "a password at the provider"
)

// A ZitadelUser is somebody whom the real provider knows, with ZitadelPassword.
type ZitadelUser struct {
	Subject  string
	Username string
	Email    string
	Verified bool
}

// Zitadel is a real provider.
type Zitadel struct {
	Issuer string

	t testing.TB
}

// StartZitadel starts one that knows some people, and from which they return to a URL.
func StartZitadel(t testing.TB, redirect string, people ...ZitadelUser) *Zitadel {
	t.Helper()
	program := os.Getenv(ZitadelVariable)
	if program == "" {
		t.Skipf("%s is not set: .ci/zitadel builds what this needs and prints its path", ZitadelVariable)
	}
	known := map[string]map[string]any{}
	for _, p := range people {
		known[p.Subject] = map[string]any{
			"ID": p.Subject, "Username": p.Username, "Password": ZitadelPassword, "Email": p.Email, "EmailVerified": p.Verified, "PreferredLanguage": "en",
		}
	}
	text, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "people.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(servertest.FreePort(t))
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "PORT="+port, "USERS_FILE="+file, "REDIRECT_URI="+redirect)
	z := &Zitadel{t: t, Issuer: "http://localhost:" + port + "/"}
	servertest.Start(t, "the provider", cmd, &http.Client{Timeout: time.Minute}, z.Issuer+".well-known/openid-configuration")
	return z
}

var field = regexp.MustCompile(`name="id" value="([^"]+)"`)

// Arrive is a browser that was sent to it, with a person who signs in. It returns the URL to which the browser is sent back.
func (z *Zitadel) Arrive(address, username string) string {
	z.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		z.t.Fatal(err)
	}
	client := &http.Client{Timeout: time.Minute, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), z.Issuer) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	page := z.read(client.Get(address))
	id := field.FindStringSubmatch(page)
	if id == nil {
		z.t.Fatalf("the provider shows no form:\n%s", page)
	}
	res, err := client.PostForm(z.Issuer+"login/username", url.Values{"username": {username}, "password": {ZitadelPassword}, "id": {id[1]}})
	page = z.read(res, err)
	to := res.Header.Get("Location")
	if to == "" {
		z.t.Fatalf("the provider has not signed %s in:\n%s", username, page)
	}
	return to
}

func (z *Zitadel) read(res *http.Response, err error) string {
	z.t.Helper()
	if err != nil {
		z.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		z.t.Fatal(err)
	}
	return string(text)
}
