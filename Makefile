# The tasks of a developer. "make check" is what CI runs, and nothing more.
# Everything is built without cgo: gVisor starts this program again in an empty
# root, where a dynamic one finds no libraries.
export CGO_ENABLED := 0

FUZZTIME ?= 10s
BENCH ?= .
COUNT ?= 10

.DEFAULT_GOAL := help
.PHONY: help build test race fuzz conformance clients model packages bench gobench lint vuln generate check clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

build: ## build bin/runpython (minutes the first time, seconds afterwards)
	go build -trimpath -ldflags '-s -w' -o bin/runpython ./cmd/runpython

test: ## run the tests; what is slow, and what this machine cannot do, is skipped and says so
	go test ./...

race: ## run the tests with the race detector (needs a C compiler)
	.ci/run build race

fuzz: ## fuzz each target for FUZZTIME
	FUZZTIME=$(FUZZTIME) .ci/run fuzz

conformance: build ## run the official conformance suite of MCP (needs npm; the network the first time)
	go run ./internal/mcpserver/conformance -suite "$$(.ci/conformance/install)" -program bin/runpython

clients: build ## let real clients use the program (needs npm, pip; the network the first time)
	.ci/clients

model: ## ask small real models in plain language (needs pip, cmake; the network the first time)
	.ci/run model

packages: build ## write docs/packages.md anew: the most downloaded packages in guests (needs a package index; minutes)
	go run ./internal/pypi/survey -program bin/runpython

bench: ## measure beside others what the goals say; BENCH_OUT=FILE writes JSON
	go run ./bench

gobench: bin/benchstat ## run Go benchmarks that match BENCH, COUNT times, and sum them up
	go test -run '^$$' -bench '$(BENCH)' -count $(COUNT) ./... > bin/bench.txt
	bin/benchstat bin/bench.txt

lint: bin/golangci-lint ## look for mistakes and for what the house does not want
	bin/golangci-lint run ./...

vuln: bin/govulncheck ## look for known vulnerabilities in what is linked (needs the network)
	bin/govulncheck ./...

generate: ## write generated files anew
	go generate ./...
	go test . -run TestDependencies -update
	go test ./internal/about -run TestCommittedFiles -update

check: ## all that CI runs
	.ci/run

clean: ## remove what was built
	rm -rf bin dist

# Tools are pinned in a module of their own.
bin/golangci-lint: PACKAGE = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
bin/benchstat: PACKAGE = golang.org/x/perf/cmd/benchstat
bin/govulncheck: PACKAGE = golang.org/x/vuln/cmd/govulncheck
bin/golangci-lint bin/benchstat bin/govulncheck: tools/go.mod tools/go.sum
	go -C tools build -trimpath -o ../$@ $(PACKAGE)
