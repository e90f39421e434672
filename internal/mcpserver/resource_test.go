package mcpserver_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

func listedFile(i int, name string) chat.ListedFile {
	return chat.ListedFile{
		File:   chat.File{Path: name, URI: "runpython://chats/" + chatID + "/files/" + name, MIMEType: "text/csv", Size: int64(i)},
		ChatID: chatID, Saved: time.Date(2026, 11, 30, 12, 0, i%60, 0, time.UTC), Cursor: fmt.Sprint(i + 1),
	}
}

// TestNothingListedForStrangers: where nobody can tell people apart, files are found by their URI only.
func TestNothingListedForStrangers(t *testing.T) {
	fake := &fakeChat{files: []chat.ListedFile{listedFile(1, "report.csv")}}
	for shared, want := range map[bool]int{false: 1, true: 0} {
		h := newServer(t, mcpserver.Options{Chat: fake, Shared: shared}).Handler()
		got := string(post(t, h, "resources/list", ""))
		if strings.Count(got, "report.csv") != 2*want || !strings.Contains(got, `"resources":[`) || !strings.Contains(got, `"cacheScope":"private"`) {
			t.Errorf("shared %v: %s", shared, got)
		}
		if got := string(request(t, h, "resources/read", fake.files[0].URI, fmt.Sprintf(`"_meta":{%s},"uri":%q`, aloneMeta, fake.files[0].URI))); !strings.Contains(got, "a,b") {
			t.Errorf("shared %v: reading it got %s", shared, got)
		}
	}
}

// TestEmptyFile: an empty file of text is listed with its size and read as text.
func TestEmptyFile(t *testing.T) {
	empty := listedFile(0, "empty.txt")
	h := newServer(t, mcpserver.Options{Chat: &fakeChat{files: []chat.ListedFile{empty, listedFile(1, "report.csv")}}}).Handler()
	if got := string(post(t, h, "resources/list", "")); strings.Count(got, `"size":0`) != 1 || strings.Count(got, `"size":1`) != 1 || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("the list %s has no size of 0, or another one twice", got)
	}
	got := string(request(t, h, "resources/read", empty.URI, fmt.Sprintf(`"_meta":{%s},"uri":%q`, aloneMeta, empty.URI)))
	if !strings.Contains(got, `"text":""`) || strings.Contains(got, "blob") {
		t.Errorf("reading an empty text got %s", got)
	}
}

// TestResourceList goes through all pages with the client of the SDK.
func TestResourceList(t *testing.T) {
	for _, version := range eras {
		t.Run("FIL-03 "+version, func(t *testing.T) {
			fake := &fakeChat{}
			var want []string
			for i := range 230 {
				f := listedFile(i, fmt.Sprintf("%d.csv", i))
				fake.files = append(fake.files, f)
				want = append(want, f.URI)
			}
			url, _ := serve(t, fake)
			session := connect(t, url, version)
			defer session.Close()
			var got []string
			var pages int
			params := &mcp.ListResourcesParams{}
			for pages = 1; ; pages++ {
				page, err := session.ListResources(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page.Resources {
					got = append(got, r.URI)
				}
				if page.TTLMs != 0 || page.CacheScope != "private" {
					t.Errorf("the page may be kept for %d ms in scope %s", page.TTLMs, page.CacheScope)
				}
				if params.Cursor = page.NextCursor; params.Cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
				t.Errorf("%d pages, want 3; (-want +got):\n%s", pages, diff)
			}
			if _, err := session.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "foreign"}); err == nil || !strings.Contains(err.Error(), "foreign cursor") {
				t.Errorf("ListResources() with a foreign cursor: %v", err)
			}
		})
	}
}

// TestResourceListOfLongNames: a page is cut where it gets too long, and still goes on.
func TestResourceListOfLongNames(t *testing.T) {
	fake := &fakeChat{}
	for i := range 100 {
		f := listedFile(i, strings.Repeat("%00", 4000))
		f.Path = strings.Repeat("\x00", 4000)
		fake.files = append(fake.files, f)
	}
	h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
	answer := post(t, h, "resources/list", "")
	checkAnswer(t, answer)
	if !bytes.Contains(answer, []byte(`"nextCursor"`)) {
		t.Error("the list is cut and has no cursor")
	}
	if n := bytes.Count(answer, []byte(`"uri"`)); n < 1 || n == 100 {
		t.Errorf("the page has %d files", n)
	}
}
