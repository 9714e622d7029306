# The words that people and CI use. Tools are pinned here and nowhere else.

STATICCHECK_VERSION   := v0.8.2
GOLANGCI_LINT_VERSION := v2.15.0

CACHE         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zcode-hub
GOLANGCI_LINT := $(CACHE)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

.PHONY: all build fmt fmt-check vet staticcheck golangci lint test race bench e2e ui docs clean

all: lint test

build: ## the static binary, bin/hub
	CGO_ENABLED=0 go build -trimpath -o bin/hub ./cmd/hub

fmt:
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

fmt-check:
	@wrong=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$wrong" ]; then echo "gofmt would change:"; echo "$$wrong"; exit 1; fi

vet:
	go vet ./...
	go vet -tags e2e ./e2e/...

staticcheck:
	go run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION) -tags e2e ./...

golangci: $(GOLANGCI_LINT)
	$(GOLANGCI_LINT) run ./...

# Built once into the cache: the linter is a program of its own, not a dependency of this module.
$(GOLANGCI_LINT):
	GOBIN=$(dir $@) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

lint: fmt-check vet staticcheck golangci

test:
	go test ./...

race:
	go test -race ./...

bench: ## whole process over loopback; figures and reading in docs/performance.md
	go run ./internal/bench

e2e: ## real binary, real browser, real proxy, real ACP client; wants chromium, nginx, promtool, node and npm
	@[ -d web/ui/node_modules ] || (cd web/ui && npm ci --no-audit --no-fund --loglevel=error) # axe-core
	go test -tags e2e -count=1 -v -timeout 30m ./e2e/...

ui: ## the page: its types, its tests, and that web/dist is what web/ui builds, byte for byte
	cd web/ui && npm ci --no-audit --no-fund --loglevel=error && npm run -s check && npm test
	@built=$$(mktemp -d) && trap 'rm -rf "$$built"' EXIT && (cd web/ui && npm run -s build -- --out "$$built") && \
	diff -r "$$built" web/dist || { echo "web/dist is not what web/ui builds: run npm run build in web/ui and commit it"; exit 1; }

docs: ## docs/configuration.md from the table in cmd/hub/settings.go
	go test ./cmd/hub -run TestConfigurationDoc -update

clean:
	rm -rf bin
