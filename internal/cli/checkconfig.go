package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"runpython/internal/check"
	"runpython/internal/check/clientconfig"
	"runpython/internal/check/process"
	"runpython/internal/check/report"
)

// planConfig adds the servers of a client's configuration to what is scanned. Those that are started are left out unless they are wanted
// and confirmed, which is said.
func (c *command) planConfig(p *checkPlan, f *checkFlags) error {
	servers, err := clientconfig.Read(f.config, c.Env)
	if err != nil {
		return usageError("--config: " + err.Error() + "; the file of settings of this program is named by RUNPYTHON_CONFIG here")
	}
	before := len(p.targets)
	left := 0 // servers that were left out
	for _, s := range servers {
		harmless := check.Harmless(s.Secrets)
		for _, note := range s.Notes {
			c.say(s.Name + ": " + harmless(note))
		}
		switch {
		case s.Problem != "":
			p.failures = append(p.failures, report.NewFailure(s.Name, "", harmless(s.Problem)))
		case s.URL != "":
			p.addEndpoint(s)
		default:
			wanted, err := c.confirm(f, s)
			if err != nil {
				return err
			}
			if !wanted {
				left++
				continue
			}
			p.targets = append(p.targets, checkTarget{
				name: s.Name, url: check.PipeTarget(s.Name), shown: check.PipeTarget(s.Name), secrets: s.Secrets,
				command: &process.Command{Name: s.Command, Args: s.Args, Env: s.Env},
			})
		}
	}
	if len(p.targets) == before && len(p.failures) == 0 {
		return usagef("%s names no server that would be scanned (%d left out)", f.config, left)
	}
	return nil
}

// addEndpoint adds a server that is asked over HTTP. What is wrong with it is wrong with it alone.
func (p *checkPlan) addEndpoint(s clientconfig.Server) {
	t := checkTarget{name: s.Name, url: s.URL, secrets: s.Secrets, headers: http.Header{}}
	shown, err := check.Shown(s.URL)
	if err != nil {
		// The URL is not repeated: it may be a credential that stands in the wrong place.
		p.failures = append(p.failures, report.NewFailure(s.Name, "", "its URL cannot be scanned: it must be a whole one of http or https, without user, password and fragment"))
		return
	}
	t.shown = check.Harmless(s.Secrets)(shown)
	for name, value := range s.Headers {
		if !isHeader(name, value) {
			p.failures = append(p.failures, report.NewFailure(s.Name, t.shown, "it has a header that no request may have"))
			return
		}
		t.headers.Set(name, value)
	}
	p.targets = append(p.targets, t)
}

// confirm asks whether a server is to be started, with its command as it would be run, credentials hidden. Nothing is started that was not
// shown.
func (c *command) confirm(f *checkFlags, s clientconfig.Server) (bool, error) {
	if !f.stdio {
		c.say(s.Name + ": left out, since it is started and not asked; --stdio scans it too, after you have seen its command")
		return false, nil
	}
	line := commandLine(s)
	if f.yes {
		c.say(s.Name + ": starting " + line)
		return true, nil
	}
	yes, err := c.ask(fmt.Sprintf("Start %s with your rights, twice, to ask what it lists?\n  %s\n", s.Name, line), "say --yes to start them without being asked")
	if err == nil && !yes {
		c.say(s.Name + ": not started")
	}
	return yes, err
}

// commandLine shows a command as a shell would take it, so that one word cannot pass for two.
func commandLine(s clientconfig.Server) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, name+"=***")
	}
	words = append(words, s.Shown...)
	harmless := check.Harmless(nil)
	for i, w := range words {
		w = harmless(w)
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !isPlainWord(r) }) {
			w = strconv.Quote(w)
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

// isPlainWord reports whether a character means nothing to a shell.
func isPlainWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./-_*", r)
}
