package message_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/message"
)

// FuzzRead reads any text, alone and in front of a block of another language,
// which must be in no candidate.
func FuzzRead(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		checkInvariants(t, text, message.Read(text))
		if strings.ContainsAny(text, "`~'\"") || strings.Contains(text, foreign) {
			return // the block could be part of another one, or of a string
		}
		for _, fence := range []string{"```", "~~~"} {
			block := "\n\n" + fence + "bash\n" + foreign + "(1)\n" + fence + "\n"
			for _, c := range message.Read(text + block).Candidates {
				if strings.Contains(c.Code, foreign) {
					t.Errorf("Read(%q): a block of another language is in the candidate %q", text+block, c.Code)
				}
			}
		}
	})
}

const foreign = "must_not_run"

// checkInvariants checks what holds for any text.
func checkInvariants(t *testing.T, text string, m message.Message) {
	t.Helper()
	if len(m.Candidates) > message.MaxCandidates {
		t.Errorf("%d candidates, want at most %d", len(m.Candidates), message.MaxCandidates)
	}
	for _, c := range m.Candidates {
		if limit := 6*len(text) + 1024; len(c.Code) > limit {
			t.Errorf("a candidate of %d bytes for a text of %d bytes, want at most %d", len(c.Code), len(text), limit)
		}
		if !utf8.ValidString(c.Code) || strings.Contains(c.Code, "\r") {
			t.Errorf("a candidate is not UTF-8 or has carriage returns")
		}
		if len(c.Note) > 1024 {
			t.Errorf("a note of %d bytes on a candidate", len(c.Note))
		}
	}
	if len(m.Requirements) > message.MaxRequirements {
		t.Errorf("%d requirements, want at most %d", len(m.Requirements), message.MaxRequirements)
	}
	for _, r := range m.Requirements {
		first := r[0] | 0x20
		if !('a' <= first && first <= 'z' || '0' <= first && first <= '9') || strings.ContainsAny(r, "/@\\\n\x00") {
			t.Errorf("requirement %q", r)
		}
	}
	if len(m.Notes) > message.MaxNotes {
		t.Errorf("%d notes, want at most %d", len(m.Notes), message.MaxNotes)
	}
	for _, n := range m.Notes {
		if len(n) > message.MaxNoteBytes || !utf8.ValidString(n) || strings.Contains(n, "\n") {
			t.Errorf("note %q", n)
		}
	}
	if m.Kind == message.Empty && (m.Candidates != nil || m.Prose != "") || m.Kind == message.Code && m.Prose != "" {
		t.Errorf("a message of kind %v with prose %q", m.Kind, m.Prose)
	}
	if (m.Kind == message.Code || m.Kind == message.Mixed) && m.Candidates == nil {
		t.Errorf("a message of kind %v without candidates", m.Kind)
	}
}
