package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"runpython/internal/check"
	"runpython/internal/check/checktest"
	"runpython/internal/check/dnssec"
)

// BenchmarkScan scans a site on loopback with every signal. The goal is a second.
func BenchmarkScan(b *testing.B) { benchmarkScan(b, good()) }

// BenchmarkThousandTools does so when it lists 1,000 tools. The goal is two seconds.
func BenchmarkThousandTools(b *testing.B) {
	site := good()
	site.Tools, site.PerPage = nil, 100
	for i := range 1000 {
		site.Tools = append(site.Tools, strings.Replace(goodTool, `"search"`, fmt.Sprintf(`"search_%d"`, i), 1))
	}
	benchmarkScan(b, site)
}

func benchmarkScan(b *testing.B, site checktest.Site) {
	b.Helper()
	served, root := checktest.Serve(b, site), checktest.NewRoot(b, checktest.Signed)
	for b.Loop() {
		r, _, err := check.Scan(b.Context(), checktest.URL, check.Options{
			Roots: served.Roots, Network: served,
			DNSSEC: &dnssec.Validator{Resolver: root, Anchors: []*dns.DS{root.Anchor()}, Now: time.Now()},
		})
		if err != nil || r.Score == nil || *r.Score != 100 {
			b.Fatalf("the scan gave %+v, %v", r, err)
		}
	}
}
