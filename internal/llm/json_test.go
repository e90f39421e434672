package llm_test

import (
	"encoding/json"
	"testing"

	"runpython/internal/llm"
)

func TestEscapeControls(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"b"}`:                   "b",
		"{\n\t\"a\":\t\"b\"\n}":       "b",
		"{\"a\":\"b\nc\td\x00\"}":     "b\nc\td\x00",
		"{\"a\":\"x = 1 + \\\n  2\"}": "x = 1 + \\\n  2", // a line that goes on: no such escape exists
		"{\"a\":\"\\\"\n\\\\\"}":      "\"\n\\",
		"{\"a\":\"b\"}\n\x00":         "", // behind the strings nothing is mended
		"{\"a\":\"Straße\nπ\"}":       "Straße\nπ",
	} {
		var got struct{ A string }
		err := json.Unmarshal(llm.EscapeControls([]byte(text)), &got)
		if got.A != want || (err == nil) != (want != "") {
			t.Errorf("%q is read as %q, %v; want %q", text, got.A, err, want)
		}
	}
}
