# Every target sets up what it needs by itself (scripts/setup.sh); there is nothing to install by hand.

SHELL := /bin/bash
export PATH := $(CURDIR)/target/tools/bin:$(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

# More for cargo (CARGO_FLAGS=--locked), for `fsage demo` (ARGS=...), seconds for each fuzz target.
CARGO_FLAGS ?=
ARGS ?=
FUZZ_SECONDS ?= 20
# What `make soak` draws; nothing for a new one.
SEED ?=
# Where fsage is installed; DESTDIR before it, for packages.
PREFIX ?= $(HOME)/.local
DESTDIR ?=

.DEFAULT_GOAL := help
.PHONY: help demo build install uninstall man dist wheel test-python test bench papers lint format-check clippy deny spelling fmt doc site fuzz soak ext4-rules clean setup

help: ## Show this list
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: setup ## Build fsage and run its demo: the whole pipeline in under a minute
	cargo run $(CARGO_FLAGS) --release --package fsage -- demo $(ARGS)

build: setup ## Build target/release/fsage
	cargo build $(CARGO_FLAGS) --release --package fsage

install: build ## Install fsage, completions and manual pages below PREFIX (~/.local)
	@scripts/install.sh "$(DESTDIR)$(PREFIX)"

uninstall: ## Remove what `make install` put there
	@scripts/install.sh --remove "$(DESTDIR)$(PREFIX)"

man: build ## Make target/man: a manual page a verb
	target/release/fsage man --force --output target/man

dist: setup ## Make target/dist/fsage-*.tar.gz: a static program with manual pages, tried in an empty root
	@scripts/setup.sh dist
	CARGO_FLAGS="$(CARGO_FLAGS)" scripts/dist.sh

wheel: setup ## Make target/wheels/fsage-*.whl: the Python package, with the program in it
	CARGO_FLAGS="$(CARGO_FLAGS)" scripts/wheel.sh

test-python: setup ## Run the tests of the Python package, on the Python that is there
	CARGO_FLAGS="$(CARGO_FLAGS)" scripts/python.sh

test: setup ## Run all tests, documentation examples included
	@scripts/setup.sh realfs browser
	CARGO_FLAGS="$(CARGO_FLAGS)" scripts/test.sh

bench: setup ## Measure the performance budget of DESIGN.md
	cargo bench $(CARGO_FLAGS) --workspace

papers: setup ## Reproduce all papers in full; an error where a row is lost that was met
	cargo run $(CARGO_FLAGS) --release --package fsage -- reproduce all --check --force --output target/papers

lint: format-check clippy doc deny spelling ## Check format, lints, documentation, dependencies, spelling

# Models and metrics are declared by the lists in the lib.rs of their crates, which cargo fmt does not read.
LISTED := $(wildcard crates/fsage-models/src/*/mod.rs crates/fsage-metrics/src/*.rs)

format-check:
	@scripts/setup.sh lint
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(LISTED)

clippy:
	@scripts/setup.sh lint
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets -- --deny warnings

deny: setup
	@scripts/tools.sh cargo-deny
	scripts/deny.sh

spelling:
	@scripts/tools.sh typos
	typos

fmt: ## Format all Rust code
	@scripts/setup.sh lint
	cargo fmt --all
	rustfmt --edition 2024 $(LISTED)

doc: setup ## Build target/doc; a broken link is an error
	RUSTDOCFLAGS="--deny warnings" cargo doc $(CARGO_FLAGS) --workspace --no-deps

site: setup ## Build target/site: the guide and the reference, to be opened in a browser
	@scripts/tools.sh mdbook
	mdbook build docs

fuzz: ## Run each fuzz target, and all properties on new cases, for FUZZ_SECONDS seconds
	@scripts/setup.sh fuzz
	@scripts/tools.sh cargo-fuzz
	scripts/fuzz.sh $(FUZZ_SECONDS)
	scripts/properties.sh $(FUZZ_SECONDS)

soak: setup ## Cut the power, kill, and let calls fail, hundreds of times; all properties on new cases (SEED=...)
	@scripts/setup.sh realfs
	scripts/soak.sh $(SEED)

ext4-rules: setup ## Change each rule of the ext4 model in a copy, and require that a recorded run of the kernel notices
	scripts/ext4-rules.sh

clean: ## Remove all that was built
	cargo clean
	rm -rf demo-run fuzz/target fuzz/artifacts

setup:
	@scripts/setup.sh
