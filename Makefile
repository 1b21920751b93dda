# Everything that a developer or CI runs. "make help" lists the targets.

GO       ?= go
VERSION  ?=
FUZZTIME ?= 1m
BENCH    ?= .
LDFLAGS  := -s -w$(if $(VERSION), -X main.version=$(VERSION))
SHELL    := bash
.SHELLFLAGS := -eu -o pipefail -c

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLATFORMS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

# Folders that Kafka's own programs wrote; they are not part of the repository.
KF_FIXTURES ?=

.DEFAULT_GOAL := help
.PHONY: help build demo soak test test-fixtures interop interop-fixtures interop-clients bench fuzz lint cross completions man

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

build: ## Build bin/kf, one static binary (VERSION=v1.2.3 names it)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/kf ./cmd/kf

demo: build ## Start a broker, write to it, show its files; then files that Kafka wrote
	@$(GO) build -o bin/demo ./internal/demo
	@PATH="$(CURDIR)/bin:$$PATH" bash cmd/kf/testdata/demo.sh

# The race detector needs a C compiler: without one the tests run all the same.
test: ## Run all tests, with the race detector where it works
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null; then \
		set -x; $(GO) test -race ./...; \
	else \
		echo "make test: no C compiler, so the tests run without the race detector"; \
		set -x; $(GO) test ./...; \
	fi

# KF_CRASH_ROUNDS=N kills it more or less often, KF_FAULTS=N fails N of its file
# operations instead of all, KF_SEED=N repeats the random choices of a run.
soak: ## Kill a broker a hundred times under load, fail each of its file operations, look for lost records
	KF_CRASH_ROUNDS=$${KF_CRASH_ROUNDS:-100} $(GO) test -count=1 -timeout 60m -v -run 'TestCrash$$' ./cmd/kf
	KF_FAULTS=$${KF_FAULTS:-all} $(GO) test -count=1 -timeout 60m -v -run 'TestFaults$$' ./internal/broker

test-fixtures: ## Run the tests on directories that Kafka wrote: KF_FIXTURES=DIR
	@if [ -z "$(KF_FIXTURES)" ] || [ ! -d "$(KF_FIXTURES)" ]; then \
		echo "make test-fixtures: KF_FIXTURES='$(KF_FIXTURES)' is no folder" >&2; exit 1; \
	fi
	KF_FIXTURES="$(abspath $(KF_FIXTURES))" $(GO) test -count=1 -tags fixtures -run TestFixtures -v ./cmd/kf

# The first run fetches Kafka through Maven. KF_SEED=N repeats the random choices
# of a run, KF_DAMAGES=N tries more or fewer damages than 2000.
interop: ## Run the tests against Kafka's own programs (needs a JDK and Maven)
	@for program in java javac mvn; do \
		command -v $$program >/dev/null || { echo "make interop: $$program is not installed: it needs a JDK and Maven" >&2; exit 1; }; \
	done
	$(GO) test -count=1 -timeout 20m -v -tags interop ./internal/interop

interop-fixtures: ## Let kf and Kafka serve directories that Kafka wrote: KF_FIXTURES=DIR
	@if [ -z "$(KF_FIXTURES)" ] || [ ! -d "$(KF_FIXTURES)" ]; then \
		echo "make interop-fixtures: KF_FIXTURES='$(KF_FIXTURES)' is no folder" >&2; exit 1; \
	fi
	KF_FIXTURES="$(abspath $(KF_FIXTURES))" $(GO) test -count=1 -timeout 30m -v -tags interop,fixtures -run TestDirectories ./internal/interop

# The first run fetches the libraries from PyPI and npm. With KF_SERVER=Kafka they
# use Apache Kafka instead, which tells whether a failure is theirs.
interop-clients: ## Let clients in other languages use kf serve (needs kcat, Python with pip, Node.js with npm)
	$(GO) test -count=1 -timeout 20m -v -tags interop,clients -run 'TestKcat|TestGroupClients' ./internal/interop

# BENCH=Serve and BENCH=Groups compare the brokers alone, which takes a quarter of an
# hour each: KF_BENCH_ROUNDS=3 and KF_BENCH_MIB=512 say how much is done, and
# KF_BENCH_GROUPS=1000, KF_BENCH_SECONDS=10, KF_BENCH_MEMBERS=100 and
# KF_BENCH_OFFSETS=1000000 for groups. KF_BENCH_ONLY names some brokers (kf kafka
# kfake kfake-mem) and measurements (restart none gzip snappy lz4 zstd latency
# partitions; commit rebalance load) to leave out the others.
bench: ## Run the benchmarks (BENCH=pattern), with kf beside Kafka and kfake if java and mvn are there
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...
	@if command -v javac >/dev/null && command -v mvn >/dev/null; then \
		set -x; $(GO) test -tags interop -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 60m ./internal/interop; \
	else \
		echo "make bench: not compared with Kafka: javac or mvn is not installed"; \
	fi

fuzz: ## Run every fuzz target for FUZZTIME (1m)
	@$(GO) list ./... | while read -r pkg; do \
		for target in $$($(GO) test -run '^$$' -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done; \
	done

lint: ## Check formatting, vet, staticcheck and go.mod
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:" >&2; echo "$$unformatted" >&2; exit 1; fi
	$(GO) vet -tags interop,fixtures,clients ./...
	$(GO) -C internal/interop/testdata/clients/go vet ./...
	$(GO) run $(STATICCHECK) -tags interop,fixtures,clients ./...
	$(GO) mod tidy -diff
	$(GO) mod verify

cross: ## Compile for every platform that kf runs on
	@for platform in $(PLATFORMS); do \
		echo "== $$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/kf; \
	done

completions: ## Write completions/, the scripts that "kf completion" prints
	@mkdir -p completions
	$(GO) run ./cmd/kf completion bash >completions/kf.bash
	$(GO) run ./cmd/kf completion zsh >completions/kf.zsh
	$(GO) run ./cmd/kf completion fish >completions/kf.fish
	$(GO) run ./cmd/kf completion powershell >completions/kf.ps1

man: ## Write the manual pages to dist/man
	$(GO) run ./cmd/man dist/man
