# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
# The newest Python ≥ 3.11 that this machine has, also where pyenv keeps them beside the default one.
PYTHON ?= $(shell for v in 3.14 3.13 3.12 3.11; do \
	for p in "$$(command -v python$$v)" $$(ls -d $(HOME)/.pyenv/versions/$$v*/bin/python 2>/dev/null); do \
		[ -x "$$p" ] && "$$p" -c 'import venv,ensurepip' 2>/dev/null && { echo "$$p"; exit; }; done; done; echo python3)
SOURCES := $(shell git ls-files 'crates/*/src/*' 'python/src/*' Cargo.toml Cargo.lock 'crates/*/Cargo.toml' python/Cargo.toml 2>/dev/null)
# cargo builds for one interpreter at a time; naming it keeps the cache of all targets the same
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help demo test test-rust test-python test-integration integration-deps corpus coverage lint bench fuzz miri viewer docs docs-rust build wheel sdist release clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 20

demo: build  ## build everything and run the main job on sample data that it makes itself
	$(BIN)/icecore demo

test: lint test-rust test-python  ## build and run every test

build: $(VENV)/.built  ## the Python environment with icecore in it

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "icecore needs Python >= 3.11: make PYTHON=/path/to/python3.12"; exit 2; }
	@command -v cargo >/dev/null || { echo "icecore needs Rust >= 1.95 (cargo was not found)"; exit 2; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv 'maturin>=1.9,<2'
	@touch $@

$(VENV)/.built: $(VENV)/.python pyproject.toml $(SOURCES)
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/python tools/build.py --uv --release --extras all,test
	@touch $@

test-rust: $(VENV)/.python  ## the engine's tests
	cargo test --release --workspace --exclude icecore-python -q
	ICECORE_PORTABLE=1 cargo test --release -p icecore-chunk -q

# A file's tests stay together: they share what they set up.
test-python: build  ## the package's tests
	$(BIN)/python -m pytest -m "not integration" -n logical --maxprocesses 8 --dist loadfile

integration-deps: build  ## install servers and peers for test-integration into .integration/; each may be missing
	$(BIN)/python tools/integration_deps.py $(TOOLS)

# Servers listen on 127.0.0.1; a tool that is missing is a skipped test, listed at the end.
test-integration: build  ## tests that need servers or peers (see integration-deps)
	$(BIN)/python -m pytest -m integration

# ICECORE_CORPUS=/data/one:/data/two make corpus CORPUS_FLAGS='--jobs 2 --out corpus.json'
corpus: build  ## link, pack and compare every file of the directories in ICECORE_CORPUS; a table of outcomes
	$(BIN)/python tools/corpus $(CORPUS_FLAGS)

coverage: build  ## line coverage of Python in coverage/python, and of Rust where cargo-llvm-cov is installed
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install -q --group coverage
	$(BIN)/python -m pytest -m "not integration" -n logical --maxprocesses 8 --dist loadfile --cov=icecore --cov-report=html:coverage/python --cov-report=term:skip-covered
	@if cargo llvm-cov --version >/dev/null 2>&1; then \
		cargo llvm-cov --release --workspace --exclude icecore-python --html --output-dir coverage/rust; \
	else echo "Rust coverage skipped: cargo install cargo-llvm-cov"; fi

# zig links against an old glibc, so that the wheel runs on every Linux since 2014; macOS needs no such thing.
WHEEL_FLAGS := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014)

wheel: $(VENV)/.python  ## a wheel for every Python ≥ 3.11 in dist/, run in clean environments without Rust
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install -q --group wheel
	rm -rf dist
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build --profile dist --out dist $(WHEEL_FLAGS)
	tools/check_wheel.sh dist/icecore_archive-*.whl $(CURDIR)/$(BIN)/python

sdist: $(VENV)/.python  ## the source archive in dist/; it builds without git and node
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install -q --group wheel
	$(BIN)/maturin sdist --out dist

lint: build  ## formatters, linters, types, module cycles, workflows
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -q -- -D warnings
	$(BIN)/ruff check python tests bench tools
	$(BIN)/ruff format --check python tests bench tools
	$(BIN)/mypy
	$(BIN)/python tools/cycles.py
	$(BIN)/python tools/prose.py
	$(BIN)/python tools/docs/charts.py --check
	$(BIN)/python tools/viewer.py --check
	$(BIN)/python tools/static_page.py --check
	$(BIN)/python tools/lint_files.py
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --log-level error check; else echo "cargo-deny is not installed: licences and advisories are not checked"; fi

bench: build  ## every measured claim beside its peers, as a table in bench/RESULTS.md
	$(BIN)/python bench/run.py all

# Tables that are in one program twice (libdeflate's) are no violation.
fuzz:  ## libFuzzer on everything that parses untrusted bytes (needs a nightly toolchain and cargo-fuzz)
	export ASAN_OPTIONS=detect_odr_violation=0; cd fuzz && for t in $$(cargo +nightly fuzz list); do cargo +nightly fuzz run $$t -- -max_total_time=$${SECONDS_EACH:-60} || exit 1; done

# Only what is Rust all through: Miri can't call C libraries. Its findings are errors.
miri:  ## undefined behaviour in the portable code of our codecs and decoders (rustup toolchain install nightly --component miri)
	export ICECORE_PORTABLE=1 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows"; \
	cargo +nightly miri test -p icecore-chunk --target-dir target/miri --test portable && \
	cargo +nightly miri test -p icecore-chunk --target-dir target/miri --lib -- unzstd::portable_tests inflate::pair

viewer:  ## the page of `icecore serve` from viewer/, and its static one from codecs-js/, into the package (needs node)
	python3 tools/viewer.py
	python3 tools/static_page.py

# make release VERSION=0.2.0
release: build  ## check everything, set the version, date the changelog, commit; prints the commands for tag and push
	$(BIN)/python tools/release.py $(VERSION)

docs: build  ## the documentation site in site/, strictly: a warning is an error
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install -q --group docs
	$(BIN)/python tools/docs/charts.py
	$(BIN)/python tools/docs/pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict -q
	@echo "open site/index.html"

docs-rust:  ## the Rust API's pages
	cargo doc --workspace --no-deps --exclude icecore-python

clean:  ## forget every build
	rm -rf target $(VENV)
