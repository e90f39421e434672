package fonts_test

import (
	"bytes"
	"strings"
	"testing"

	"runpython/internal/sandbox/fonts"
)

func TestUnpack(t *testing.T) {
	font, err := fonts.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(font, []byte("ttcf")) {
		t.Errorf("the font begins with %q, want a collection", font[:4])
	}
	if !strings.Contains(fonts.License, "WenQuanYi") || !strings.Contains(fonts.License, "END OF TERMS AND CONDITIONS") {
		t.Error("the license is not whole")
	}
}
