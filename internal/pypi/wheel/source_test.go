package wheel_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"runpython/internal/pypi/wheel"
)

func TestParseSource(t *testing.T) {
	for _, test := range []struct{ file, name, want string }{
		{"my_pkg-1.0.tar.gz", "my-pkg", "1.0"},
		{"My.Pkg-1.0rc1.zip", "my-pkg", "1.0rc1"},
		{"my-pkg-2-1.0.tar.gz", "my-pkg-2", "1.0"},
		{"my-pkg-2.tar.gz", "my-pkg", "2"},
		{"zope.interface-5.0+local.1.tar.gz", "zope-interface", "5.0+local.1"},
		{"my-pkg-2-1.0.tar.gz", "my-pkg", ""}, // "2-1.0" is no version
		{"other-1.0.tar.gz", "my-pkg", ""},
		{"my-pkg-1.0.tar.bz2", "my-pkg", ""},
		{"my-pkg-1.0-py3-none-any.whl", "my-pkg", ""},
		{"../my-pkg-1.0.tar.gz", "my-pkg", ""},
		{"my-pkg-latest.tar.gz", "my-pkg", ""},
		{"my-pkg-1/../2.tar.gz", "my-pkg", ""},
		{"my-pkg-1 2.tar.gz", "my-pkg", ""},
		{"my-pkg-.tar.gz", "my-pkg", ""},
		{"", "my-pkg", ""},
	} {
		if got, ok := wheel.ParseSource(test.file, test.name); got != test.want || ok != (test.want != "") {
			t.Errorf("ParseSource(%q, %q) = %q, %v; want %q", test.file, test.name, got, ok, test.want)
		}
	}
}

func TestCheckBuilt(t *testing.T) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	pin := wheel.Pin{Name: "my-pkg", Version: "1.0", File: "my-pkg-1.0.tar.gz", SHA256: strings.Repeat("0", 64)}
	if err := pin.Check(); err != nil || !pin.IsSource() {
		t.Fatalf("%+v: %v", pin, err)
	}
	for tags, want := range map[string]bool{
		"py3-none-any": true, "py2.py3-none-any": true, "py314-none-any": true, "py39-none-any": true, "cp314-cp314-linux_" + machine: true,
		"cp310-abi3-manylinux_2_17_" + machine: true, "cp314-none-linux_" + machine: true,
		"py2-none-any": false, "py315-none-any": false, "cp313-cp313-linux_" + machine: false, "cp314-cp314t-linux_" + machine: false,
		"cp314-cp314-win_amd64": false, "cp314-cp314-musllinux_1_2_" + machine: false, "cp315-abi3-linux_" + machine: false, "cp314-cp314-linux_s390x": false,
	} {
		err := wheel.CheckBuilt("my_pkg-1.0-"+tags+".whl", pin, "3.14")
		if _, bad := errors.AsType[*wheel.BadError](err); (err == nil) != want || bad == want {
			t.Errorf("%s: %v, want %v", tags, err, want)
		}
	}
	for _, file := range []string{"other-1.0-py3-none-any.whl", "my_pkg-2.0-py3-none-any.whl", "my-pkg-1.0.tar.gz", "../my_pkg-1.0-py3-none-any.whl", ""} {
		if wheel.CheckBuilt(file, pin, "3.14") == nil {
			t.Errorf("%q is taken", file)
		}
	}
	pin.File = "my-pkg-2.0.tar.gz"
	if err := pin.Check(); err == nil {
		t.Error("a pin of another version's file is taken")
	}
}
