package probe_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/check/probe"
)

// Programs that do what they should not cost a bounded time, and leave nothing behind.
func TestPipe(t *testing.T) {
	notification := `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n"
	answers := func(results map[string]string) func(net.Conn) {
		return func(c net.Conn) {
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				var q struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				if json.Unmarshal(lines.Bytes(), &q) == nil && q.ID != nil {
					fmt.Fprintf(c, "%s{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", notification, q.ID, results[q.Method])
				}
			}
		}
	}
	const refused = `"error":{"code":-32601,"message":"no"}`
	const tools = `"result":{"tools":[{"name":"a"}]}`
	for name, c := range map[string]struct {
		serve func(net.Conn)
		want  []probe.Try
		tools int
	}{
		"older revision": {answers(map[string]string{"initialize": `"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}}}`, "tools/list": tools, "server/discover": refused}),
			[]probe.Try{{Revision: "2026-07-28", Outcome: probe.Refused, Detail: "error -32601: no"}, {Revision: "2025-11-25", Outcome: probe.Offered, Offered: "2025-03-26"}, {Revision: "2025-03-26", Outcome: probe.Accepted}}, 1},
		"both eras": {answers(map[string]string{"initialize": `"result":{"protocolVersion":"2025-11-25","capabilities":{}}`, "tools/list": tools, "server/discover": `"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`}),
			[]probe.Try{{Revision: "2026-07-28", Outcome: probe.Accepted}, {Revision: "2025-11-25", Outcome: probe.Accepted}}, 1},
		"an unknown revision": {answers(map[string]string{"initialize": `"result":{"protocolVersion":"1999-01-01","capabilities":{"tools":{}}}`, "tools/list": tools, "server/discover": `"result":{"supportedVersions":["1999-01-01"]}`}),
			[]probe.Try{{Revision: "2026-07-28", Outcome: probe.Refused, Detail: "it names other revisions: 1999-01-01"}, {Revision: "2025-11-25", Outcome: probe.Offered, Offered: "1999-01-01"}}, 0},
		"another form": {answers(map[string]string{"initialize": `"result":[]`, "server/discover": `"result":7`}),
			[]probe.Try{{Revision: "2026-07-28", Outcome: probe.Failed, Detail: "its result has another form than MCP's"}, {Revision: "2025-11-25", Outcome: probe.Failed, Detail: "its result has another form than MCP's"}}, 0},
		"silent": {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
			[]probe.Try{{Revision: "2026-07-28", Outcome: probe.Failed, Detail: "the program has not answered in time"}, {Revision: "2025-11-25", Outcome: probe.Failed, Detail: "the program has not answered in time"}}, 0},
		"ends at once": {func(net.Conn) {},
			[]probe.Try{{Revision: "2026-07-28", Outcome: probe.Failed, Detail: "the program takes no more input"}, {Revision: "2025-11-25", Outcome: probe.Failed, Detail: "the program takes no more input"}}, 0},
		"flood": {func(c net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, c) }()
			for {
				if _, err := io.WriteString(c, notification); err != nil {
					return
				}
			}
		}, []probe.Try{{Revision: "2026-07-28", Outcome: probe.Failed, Detail: "the program has written 10000 lines without the answer"}, {Revision: "2025-11-25", Outcome: probe.Failed, Detail: "the program has written 10000 lines without the answer"}}, 0},
		"a flood of long lines": {func(c net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, c) }()
			long := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 2<<20) + `"}` + "\n"
			for {
				if _, err := io.WriteString(c, long); err != nil {
					return
				}
			}
		}, []probe.Try{{Revision: "2026-07-28", Outcome: probe.Failed, Detail: "the program has ended, or has written more than is read"}, {Revision: "2025-11-25", Outcome: probe.Failed, Detail: "the program has ended, or has written more than is read"}}, 0},
		"a line without end": {func(c net.Conn) {
			go func() { _, _ = io.Copy(io.Discard, c) }()
			for {
				if _, err := io.WriteString(c, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, []probe.Try{{Revision: "2026-07-28", Outcome: probe.Failed, Detail: "the program has ended, or has written more than is read"}, {Revision: "2025-11-25", Outcome: probe.Failed, Detail: "the program has ended, or has written more than is read"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				open := func(context.Context) (io.ReadWriteCloser, error) {
					ours, theirs := net.Pipe()
					go func() { defer theirs.Close(); c.serve(theirs) }()
					return ours, nil
				}
				facts, err := probe.RunPipe(ctx, open, probe.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, facts.Transport.Tries); d != "" || len(facts.Transport.Tools.Items) != c.tools || !facts.Pipe {
					t.Errorf("%d tools, tries (-want +got):\n%s", len(facts.Transport.Tools.Items), d)
				}
			})
		})
	}
}

// A program that cannot be started is no server to judge.
func TestPipeThatCannotBeOpened(t *testing.T) {
	gone := errors.New("no such program")
	open := func(context.Context) (io.ReadWriteCloser, error) { return nil, gone }
	if _, err := probe.RunPipe(t.Context(), open, probe.Options{}); !errors.Is(err, gone) {
		t.Errorf("error %v, want %v", err, gone)
	}
}
