package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/trace"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "00f067aa0ba902b7"
	parent  = "00-" + traceID + "-" + spanID + "-01"
)

func TestParseParent(t *testing.T) {
	zeros := strings.Repeat("0", 32)
	for _, test := range []struct {
		name, parent string
		ok           bool
	}{
		{"sampled", parent, true},
		{"not sampled", "00-" + traceID + "-" + spanID + "-00", true},
		{"unknown flags", "00-" + traceID + "-" + spanID + "-fe", true},
		{"a later version", "01-" + traceID + "-" + spanID + "-01", true},
		{"a later version with more", "cc-" + traceID + "-" + spanID + "-01-what", true},
		{"nothing", "", false},
		{"version 00 with more", parent + "-x", false},
		{"a later version with more and no dash", "cc-" + traceID + "-" + spanID + "-01x", false},
		{"version ff", "ff-" + traceID + "-" + spanID + "-01", false},
		{"capitals", "00-" + strings.ToUpper(traceID) + "-" + spanID + "-01", false},
		{"no trace", "00-" + zeros + "-" + spanID + "-01", false},
		{"no span", "00-" + traceID + "-" + zeros[:16] + "-01", false},
		{"a newline", "00-" + traceID[:31] + "\n-" + spanID + "-01", false},
		{"not hexadecimal", "00-" + traceID[:31] + "g-" + spanID + "-01", false},
		{"too short", parent[:54], false},
		{"spaces around", " " + parent[:54], false},
		{"dashes elsewhere", "00-" + traceID + "0-" + spanID[1:] + "-01", false},
		{"too many dashes", "00-" + traceID[:15] + "-" + traceID[16:] + "-" + spanID + "-01", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := trace.Context{}
			if test.ok {
				want = trace.Context{TraceID: traceID, SpanID: spanID}
			}
			got, ok := trace.Parse(test.parent, "")
			if diff := cmp.Diff(want, got); diff != "" || ok != test.ok {
				t.Errorf("Parse(%q) = %v, want %v; (-want +got):\n%s", test.parent, ok, test.ok, diff)
			}
		})
	}
}

func TestParseState(t *testing.T) {
	members := func(n int) string {
		return strings.TrimSuffix(strings.Repeat("k=v,", n), ",")
	}
	different := "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1,r=1,s=1,t=1,u=1,v=1,w=1,x=1,y=1,z=1,a0=1,b0=1,c0=1,d0=1,e0=1,f0=1"
	for _, test := range []struct {
		name, state string
		ok          bool
	}{
		{"one", "rojo=00f067aa0ba902b7", true},
		{"two, with spaces", "rojo=00f067aa0ba902b7 , \tcongo=t61rcWkgMzE", true},
		{"of a tenant", "0tenant-1@vendor=x/y z", true},
		{"empty members", "a=1,,b=2,", true},
		{"as many as there may be", different, true},
		{"one more", different + ",g0=1", false},
		{"the same key twice", members(2), false},
		{"no value", "a=", false},
		{"no key", "=a", false},
		{"no equals sign", "a", false},
		{"two equals signs", "a=b=c", false},
		{"capitals in a key", "A=1", false},
		{"a digit first", "1a=1", false},
		{"system too long", "t@abcdefghijklmno=1", false},
		{"a newline", "a=1\nlevel=ERROR", false},
		{"a control character", "a=\x1b[31m", false},
		{"not ASCII", "a=é", false},
		{"too long", "a=" + strings.Repeat("v", 200) + ",b=" + strings.Repeat("v", 200) + ",c=" + strings.Repeat("v", 200), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := trace.Context{TraceID: traceID, SpanID: spanID}
			if test.ok {
				want.State = test.state
			}
			got, ok := trace.Parse(parent, test.state)
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("Parse(…, %q): %v (-want +got):\n%s", test.state, ok, diff)
			}
		})
	}
}

func TestHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(trace.Handler(slog.NewJSONHandler(&out, nil))).With("part", "test")
	c := trace.Context{TraceID: traceID, SpanID: spanID, State: "a=1"}
	log.InfoContext(trace.NewContext(t.Context(), c), "within")
	log.Info("without")
	var within, without map[string]any
	lines := json.NewDecoder(&out)
	if err := lines.Decode(&within); err != nil {
		t.Fatal(err)
	}
	if err := lines.Decode(&without); err != nil {
		t.Fatal(err)
	}
	for _, m := range []map[string]any{within, without} {
		delete(m, "time")
	}
	if diff := cmp.Diff(map[string]any{
		"level": "INFO", "msg": "within", "part": "test", "trace_id": traceID, "span_id": spanID, "trace_state": "a=1",
	}, within); diff != "" {
		t.Errorf("with a trace (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"level": "INFO", "msg": "without", "part": "test"}, without); diff != "" {
		t.Errorf("without one (-want +got):\n%s", diff)
	}
}

func TestFromContext(t *testing.T) {
	if got := trace.FromContext(context.Background()); got != (trace.Context{}) {
		t.Errorf("FromContext() = %v, want none", got)
	}
}

// FuzzParse: whatever is taken fits into one line of a log.
func FuzzParse(f *testing.F) {
	f.Add(parent, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
	f.Add("cc-"+traceID+"-"+spanID+"-01-x", "0t@v=x")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, parent, state string) {
		c, ok := trace.Parse(parent, state)
		if !ok {
			if c != (trace.Context{}) {
				t.Errorf("Parse(%q, %q) = %v, false", parent, state, c)
			}
			return
		}
		if len(c.TraceID) != 32 || len(c.SpanID) != 16 || !strings.Contains(parent, c.TraceID+"-"+c.SpanID) {
			t.Errorf("Parse(%q) = %v", parent, c)
		}
		for _, r := range c.State {
			if r != '\t' && (r < ' ' || r > '~') {
				t.Errorf("Parse(…, %q) kept %q", state, r)
			}
		}
	})
}
