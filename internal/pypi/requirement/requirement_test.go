package requirement_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/fault"
	"runpython/internal/pypi/requirement"
)

func TestValidRequirements(t *testing.T) {
	for _, test := range []struct{ id, text, want string }{
		{"PKG-21", "six>=1.15,<2 ; python_version >= '3.8'", "six>=1.15,<2 ; python_version >= '3.8'"},
		{"PKG-21", "Typing_Extensions", "typing-extensions"},
		{"PKG-21", "zope.interface", "zope-interface"},
		{"PKG-18", "requests[socks]", "requests[socks]"},
		{"PKG-23", "cowsay<6", "cowsay<6"},
		{"extras", "a[B_c, x ,x]", "a[b-c,x]"},
		{"no extras", "a[]", "a"},
		{"spaces", "  pandas  >= 2.0 , != 2.1.* ", "pandas>=2.0,!=2.1.*"},
		{"parentheses", "pandas (>=2)", "pandas>=2"},
		{"spellings", "a==1!2.0rc1.post2.dev3+local.7", "a==1!2.0rc1.post2.dev3+local.7"},
		{"arbitrary", "a===2004d", "a===2004d"},
		{"post with a dash", "a==1.0-1", "a==1.0-1"},
		{"marker", "a;(os_name=='nt' or sys_platform in \"linux darwin\")and extra!='x'",
			"a ; (os_name == 'nt' or sys_platform in \"linux darwin\") and extra != 'x'"},
		{"not in", "a; 'win' not  in sys_platform", "a ; 'win' not in sys_platform"},
	} {
		t.Run(test.id+" "+test.text, func(t *testing.T) {
			r, err := requirement.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.String(); got != test.want {
				t.Errorf("Parse(%q) = %q, want %q", test.text, got, test.want)
			}
			again, err := requirement.Parse(r.String())
			if diff := cmp.Diff(r, again); err != nil || diff != "" {
				t.Errorf("read back: %v %s", err, diff)
			}
		})
	}
}

func TestRefusedRequirements(t *testing.T) {
	for _, test := range []struct{ id, text, reason string }{
		{"PKG-19", "six; touch /tmp/pwned", "paths"},
		{"PKG-19", "six; touch pwned", "none of extra"},
		{"PKG-19", "--index-url=http://127.0.0.1:9/", "options"},
		{"PKG-19", "-r /etc/passwd", "options"},
		{"PKG-19", "six\n--pre", "characters"},
		{"PKG-20", "git+https://example.test/x.git", "URLs"},
		{"PKG-20", "six @ http://169.254.169.254/six.whl", "URLs"},
		{"PKG-20", "six@x", "URLs"},
		{"PKG-20", "./evil.whl", "paths"},
		{"PKG-20", "file:///etc/passwd", "URLs"},
		{"PKG-20", "evil-1.0-py3-none-any.whl", "paths"},
		{"empty", "", "empty"},
		{"space", " \t", "empty"},
		{"long", strings.Repeat("a", 2000), "longer"},
		{"not ASCII", "pаndas", "characters"},
		{"two", "six requests", "condition on its version"},
		{"version", "six==1.*.2", "condition on its version"},
		{"wildcard with >", "six>1.*", "condition on its version"},
		{"open bracket", "six[a", "bracket"},
		{"no extra", "six[a,]", "not an extra"},
		{"open parenthesis", "six (>=1", "parenthesis"},
		{"name", "six-", "not a name"},
		{"empty marker", "six;", "ends early"},
		{"marker goes on", "six; os_name == 'a' 'b'", "goes on"},
		{"unknown variable", "six; path == 'a'", "none of"},
		{"open text", "six; os_name == 'a", "not closed"},
		{"open marker", "six; (os_name == 'a'", "not closed"},
		{"deep marker", "six; " + strings.Repeat("(", 40) + "os_name == 'a'" + strings.Repeat(")", 40), "more than 16"},
		{"no comparison", "six; os_name 'a'", "no comparison"},
		{"not without in", "six; os_name not 'a'", "no comparison"},
		{"many extras", "six[" + strings.Repeat("a,", 3) + strings.Join(letters(40), ",") + "]", "more than 32 extras"},
		{"many clauses", "six" + strings.Repeat(">1,", 40) + ">1", "more than 32 conditions"},
	} {
		t.Run(test.id+" "+test.text, func(t *testing.T) {
			r, err := requirement.Parse(test.text)
			if err == nil {
				t.Fatalf("Parse(%q) = %q, want an error", test.text, r)
			}
			if kind, message := fault.Shown(err); kind != fault.Invalid || !strings.Contains(message, test.reason) {
				t.Errorf("Parse(%q) says %v, %q; want invalid and %q", test.text, kind, message, test.reason)
			}
		})
	}
}

func letters(n int) []string {
	var all []string
	for i := range n {
		all = append(all, string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	return all
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"six", "requests[socks]>=2,<3; python_version >= '3.8'", "a (==1.*)", "six; (os_name=='nt' or 'x' not in extra)",
		"six @ https://example.test/six.whl", "-r x", "a[b,c]===x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := requirement.Parse(text)
		if err != nil {
			return
		}
		s := r.String()
		if strings.ContainsAny(s, "\n\r@/\\") || s[0] == '-' || s[0] == '.' {
			t.Fatalf("Parse(%q) = %q, which is not harmless", text, s)
		}
		again, err := requirement.Parse(s)
		if err != nil {
			t.Fatalf("Parse(%q) = %q, which is refused: %v", text, s, err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatalf("Parse(%q) read back: %s", text, diff)
		}
	})
}

func TestAdmits(t *testing.T) {
	for _, tt := range []struct {
		clauses string
		want    bool
	}{
		{">=3.12", true}, {">=3.12,<4", true}, {"==3.14.*", true}, {"~=3.13", true}, {"===3.14.6", true}, {"!=3.14.5", true},
		{"<3.13", false}, {">3.14.6", false}, {"==3.13.*", false}, {"~=3.14.7", false}, {">=3.15a1", false},
	} {
		if got, err := requirement.Admits(tt.clauses, "3.14.6"); got != tt.want || err != nil {
			t.Errorf("Admits(%q, 3.14.6) = %v, %v, want %v", tt.clauses, got, err, tt.want)
		}
	}
	for _, clauses := range []string{">=", "three", ">=3.*", strings.Repeat(">=3,", 1000) + ">=3"} {
		if _, err := requirement.Admits(clauses, "3.14.6"); err == nil || len(err.Error()) > 200 {
			t.Errorf("Admits(%.20q) = %v, want one short error", clauses, err)
		}
	}
	if _, err := requirement.Admits(">=3", "new"); err == nil {
		t.Error("Admits takes \"new\" for a version")
	}
}
