package chat_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
)

// listed returns the names of all pages of an owner's files.
func listed(t *testing.T, s *chat.Service, owner string, most int) (names []string) {
	t.Helper()
	cursor := ""
	for {
		files, more, err := s.ListFiles(t.Context(), owner, cursor, most)
		if err != nil || len(files) > most || more && len(files) == 0 {
			t.Fatalf("ListFiles(%q, %q) = %d files, %v, %v", owner, cursor, len(files), more, err)
		}
		for _, f := range files {
			names = append(names, f.Path)
			cursor = f.Cursor
		}
		if !more {
			return names
		}
	}
}

// A graph is no Word template, whatever the host's tables say.
func TestTypeOfGraph(t *testing.T) {
	s, _ := newService(t, nil)
	for _, name := range []string{"g.dot", "g.gv"} {
		if files := ask(t, s, "", "file "+name+" graph{}").Files; len(files) != 1 || files[0].MIMEType != "text/vnd.graphviz" {
			t.Errorf("%s: %+v", name, files)
		}
	}
}

func TestListFiles(t *testing.T) {
	s, _ := newService(t, nil)
	first := ask(t, s, "", "file a.txt one").ChatID
	second := ask(t, s, "", "file b.txt two").ChatID
	ask(t, s, first, "file c.txt three")
	ask(t, s, second, "link d")
	ask(t, s, first, "picture x")
	ask(t, s, second, "file b.txt again")
	foreign, err := s.Turn(t.Context(), chat.Request{Owner: "eve", Message: do("file e.txt five")})
	if err != nil {
		t.Fatal(err)
	}
	for most := 1; most < 5; most++ {
		if diff := cmp.Diff([]string{"b.txt", "c.txt", "a.txt"}, listed(t, s, "", most)); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", most, diff)
		}
	}
	if diff := cmp.Diff([]string{"e.txt"}, listed(t, s, "eve", 9)); diff != "" {
		t.Errorf("of another owner (-want +got):\n%s", diff)
	}

	files, _, err := s.ListFiles(t.Context(), "", "", 1)
	if err != nil || files[0].ChatID != second || files[0].Size != 5 || files[0].MIMEType != "text/plain" || files[0].Saved.IsZero() {
		t.Fatalf("ListFiles() = %+v, %v", files, err)
	}
	if got := read(t, s, files[0].URI); got != "again" {
		t.Errorf("the listed file has %q", got)
	}
	for _, uri := range []string{foreign.Files[0].URI, strings.Replace(foreign.Files[0].URI, "e.txt", "none", 1)} {
		if _, _, err := s.OpenFile(t.Context(), "", uri); err == nil || err.Error() != "there is no such file" {
			t.Errorf("OpenFile(%q) of somebody else: %v", uri, err)
		}
	}

	// The place in the list holds although the file it names is gone, or is newer now.
	ask(t, s, second, "delete b.txt")
	rest, more, err := s.ListFiles(t.Context(), "", files[0].Cursor, 1)
	if err != nil || !more || rest[0].Path != "c.txt" {
		t.Errorf("ListFiles() after a deleted file = %v, %v, %v", rest, more, err)
	}
	ask(t, s, first, "file c.txt newer")
	rest, more, err = s.ListFiles(t.Context(), "", rest[0].Cursor, 1)
	if err != nil || more || len(rest) != 1 || rest[0].Path != "a.txt" {
		t.Errorf("ListFiles() after a changed file = %v, %v, %v", rest, more, err)
	}
}

func TestListIsBounded(t *testing.T) {
	extent.Slow(t)
	s, _ := newService(t, nil)
	names := make([]string, chat.MaxListed+1)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	ask(t, s, "", "files "+strings.Join(names, " "))
	got := listed(t, s, "", 300)
	slices.Reverse(got)
	if diff := cmp.Diff(names[1:], got); diff != "" {
		t.Errorf("the newest %d (-want +got):\n%s", chat.MaxListed, diff)
	}
}

func TestListRefusesForeignCursors(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "file a.txt one").ChatID
	for _, cursor := range []string{
		"x", "é", strings.Repeat("A", 10_000), "MQ",
		encoded("1 2 %s", id), encoded("0 2 %s a", id), encoded("-1 2 %s a", id), encoded("1 x %s a", id), encoded("1 2 %s ", id),
		encoded("1 2 %s a", "../../../../../../../../etc"), encoded("99999999999999999999 2 %s a", id),
	} {
		files, _, err := s.ListFiles(t.Context(), "", cursor, 9)
		if kind, text := fault.Shown(err); kind != fault.Invalid || !strings.Contains(text, "without a cursor") || files != nil {
			t.Errorf("ListFiles(%q) = %v, %v; want invalid", cursor, files, err)
		}
	}
	// A forged one says where to go on, never whose files.
	if files, more, err := s.ListFiles(t.Context(), "eve", encoded("1 9223372036854775807 %s a", id), 9); len(files) > 0 || more || err != nil {
		t.Errorf("ListFiles() of somebody without files = %v, %v, %v", files, more, err)
	}
}

func encoded(format, id string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, format, id))
}

// TestNamesOfAnyBytes: the URI of a file has nothing in it that means something in a URI,
// and leads back to the file, also with its slashes encoded as a URI template does it.
func TestNamesOfAnyBytes(t *testing.T) {
	for _, name := range []string{
		"plain.txt", "with?mark#hash%41.txt", "a&b=c+d;e,f.txt", "отчёт🎉.txt", "\xff\xfe.bin", "new\nline\t.txt", "quote\"'<>\\^`{|}.txt",
		"sub/folder/file.txt", "[1].txt", "a:b@c!$*().txt", "100%.txt", "...", "-", "~x",
	} {
		t.Run(fmt.Sprintf("FIL-03 %q", name), func(t *testing.T) {
			s, _ := newService(t, nil)
			if _, err := s.PutFile(t.Context(), "", "", name, strings.NewReader("of "+name)); err != nil {
				t.Fatal(err)
			}
			files, _, err := s.ListFiles(t.Context(), "", "", 9)
			if err != nil || len(files) != 1 {
				t.Fatalf("ListFiles() = %v, %v", files, err)
			}
			path := strings.SplitN(files[0].URI, "/", 6)[5]
			if i := strings.IndexFunc(path, func(r rune) bool {
				return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@%/", r)
			}); i >= 0 {
				t.Errorf("the URI %q has %q in it", files[0].URI, path[i])
			}
			for _, uri := range []string{files[0].URI, strings.TrimSuffix(files[0].URI, path) + strings.ReplaceAll(path, "/", "%2F")} {
				if got := read(t, s, uri); got != "of "+name {
					t.Errorf("OpenFile(%q) has %q", uri, got)
				}
			}
		})
	}
}

// TestOpenTellsResults: a result never changes, which its readers may know.
func TestOpenTellsResults(t *testing.T) {
	s, _ := newService(t, nil)
	reply := ask(t, s, "", "picture x")
	file, body, err := s.OpenFile(t.Context(), "", reply.Images[0].URI)
	if err != nil || !file.Result {
		t.Fatalf("OpenFile(%q) = %+v, %v", reply.Images[0].URI, file, err)
	}
	if end, err := body.Seek(0, io.SeekEnd); end != file.Size || err != nil {
		t.Errorf("the content ends at %d (%v), its size is %d", end, err, file.Size)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"+1", "01", "1x", ""} {
		uri := strings.Replace(reply.Images[0].URI, "/results/1/", "/results/"+other+"/", 1)
		if _, _, err := s.OpenFile(t.Context(), "", uri); err == nil {
			t.Errorf("OpenFile(%q) found something", uri)
		}
	}
}
