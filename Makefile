# make demo: see it work · make test: prove it · make help: the rest
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core/src -name '*.rs') core/Cargo.toml core/Cargo.lock pyproject.toml
LABELLED ?= lab/out
DEMO := sample_captures/linux61_advwinscale2_w50000.pcap.zst

QUICK := $(addprefix tests/test_,$(addsuffix .py,layers core_layers words named_numbers python decide rules rounds evidence quantities bdp limits_page window_findings \
	handshake documents))

FUZZ_SECONDS ?= 30
FUZZ_TARGETS := frames segment rounds filter
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz asks of the compiler, as far as a stable one knows it.
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Ccodegen-units=1 \
	-Cdebug-assertions --cfg fuzzing
# It watches all memory: what leaks, and how much is taken at once.
LEAK_SANITIZER = $(shell gcc -print-file-name=liblsan.so)

.PHONY: demo test quick lint format pages check-pages dev-wheel python-only site wheels instructions bench lab fuzz accuracy confidence thresholds evidence lock audit help

demo: $(VENV)/ready ## analyse a real capture, print the verdict, write the report
	@$(BIN)/bdpcap report $(DEMO) --text - -o report.html

test: $(VENV)/ready ## set up and pass every test
	cargo test --quiet --locked --manifest-path core/Cargo.toml
	$(BIN)/python -m pytest --quiet --numprocesses auto

quick: $(VENV)/ready ## the tests that need no other program and no browser, in under a minute
	$(BIN)/python -m pytest --quiet --numprocesses auto $(QUICK)

lint: $(VENV)/ready ## formatters, linters, types, the extension's stub, unused dependencies
	cargo fmt --check --manifest-path core/Cargo.toml
	cargo clippy --quiet --locked --all-targets --features python --manifest-path core/Cargo.toml -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest bdpcap._core
	$(BIN)/deptry .

format: $(VENV)/ready ## apply the formatters
	cargo fmt --manifest-path core/Cargo.toml
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

pages: $(VENV)/ready ## write every generated page and picture, the notebooks' outputs and the reviewed texts anew
	PYTHONPATH=benchmarks $(BIN)/python tests/pages.py
	$(BIN)/python tests/pictures.py

check-pages: $(VENV)/ready ## fail, with the difference, if one of them would change (part of make test)
	$(BIN)/python -m pytest --quiet --numprocesses auto tests/test_pages.py

dev-wheel: $(VENV)/ready ## a wheel for those who change Python alone, in build/wheels
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheels .
	@ls build/wheels/bdpcap-*.whl

# The checkout comes before the installed package, which lends its core and the bdpcap command.
python-only: ## set up without Rust: make python-only WHEEL=bdpcap-....whl (made by dev-wheel, of the same core)
	@test -f "$(WHEEL)" || { echo "make python-only needs WHEEL=FILE, a wheel made by make dev-wheel" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(WHEEL)
	@$(BIN)/python -m pip install --quiet $(WHEEL) --group test --group lint
	@echo "import sys; sys.path.insert(0, '$(CURDIR)')" > \
		"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/bdpcap_checkout.pth"
	@$(BIN)/python -m compileall -q bdpcap
	@touch $(VENV)/ready

site: $(VENV)/ready ## build the documents as a site in build/site; a warning is an error
	$(BIN)/python -m pip install --quiet --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

wheels: ## build this platform's wheels in dist, check them, and try each without Rust
	$(PYTHON) release/wheels.py

instructions: $(VENV)/ready ## fail if the core needs more instructions for a packet (needs valgrind)
	@$(BIN)/python benchmarks/instructions.py $(UPDATE)

bench: $(VENV)/ready ## compare speed with peers (needs tcptrace, cc and libpcap)
	$(BIN)/python benchmarks/speed.py --bdpcap $(BIN)/bdpcap

lab: $(VENV)/ready ## make labelled transfers in lab/out (as root; about half an hour)
	$(BIN)/python lab/make.py

# With uv 0.9 or later (`pip install uv`). Then `make pages`, for docs/licences.md.
lock: ## choose the packages that a release is tried with anew, with their hashes (needs the network and uv)
	uv pip compile pyproject.toml --group test --universal --python-version 3.11 --generate-hashes --no-header --quiet \
		--upgrade --output-file .github/requirements.txt
	uv pip compile --group wheels --universal --python-version 3.11 --generate-hashes --no-header --quiet \
		--upgrade --output-file .github/tools.txt

# Asks RustSec, crates.io and the Python advisory database: it needs the network, and `cargo install --locked cargo-deny`.
audit: $(VENV)/ready ## licences, sources and known weaknesses of all that bdpcap is built from (needs the network and cargo-deny)
	cargo deny --manifest-path core/Cargo.toml check
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python -m pip_audit --local --skip-editable

fuzz: ## replay the corpus of every fuzz target, then mutate it for FUZZ_SECONDS each (needs gcc and a C++ compiler)
	CARGO_TARGET_DIR=core/fuzz/target RUSTFLAGS="$(COVERAGE)" cargo build --quiet --release --locked \
		--target $(HOST) --manifest-path core/fuzz/Cargo.toml
	@$(MAKE) --no-print-directory --jobs 2 $(FUZZ_TARGETS:%=fuzz-%)

# New inputs go to a directory of their own: the corpus grows by hand only. What a target says is shown if it fails. The
# leak sanitizer takes some 10 bytes an execution, 250 MB in half a minute: hence twice the memory of one input.
fuzz-%:
	@new=$$(mktemp -d) && trap 'rm -r "$$new"' EXIT && mkdir "$$new/corpus" && \
	LD_PRELOAD=$(LEAK_SANITIZER) core/fuzz/target/$(HOST)/release/$* "$$new/corpus" core/fuzz/corpus/$* -max_total_time=$(FUZZ_SECONDS) -timeout=30 \
		-rss_limit_mb=512 -malloc_limit_mb=256 -artifact_prefix=core/fuzz/$*- -print_final_stats=1 >"$$new/log" 2>&1 || \
		{ cat "$$new/log"; exit 1; }; \
	sed -n 's/^stat::number_of_executed_units: */fuzz $*, executions: /p' "$$new/log"

accuracy: $(VENV)/ready ## grade verdicts against lab/out and write docs/accuracy.md
	$(BIN)/python benchmarks/accuracy.py $(LABELLED) -o docs/accuracy.md

thresholds: $(VENV)/ready ## measure what moving each number of the rules changes, and write docs/thresholds.md
	$(BIN)/python benchmarks/accuracy.py tests/data/labelled $(LABELLED) --thresholds -o docs/thresholds.md

evidence: $(VENV)/ready ## measure what each quantity of a round costs and is worth, and write docs/evidence.md (needs valgrind, addr2line)
	$(BIN)/python benchmarks/evidence.py tests/data/labelled $(LABELLED) -o docs/evidence.md

confidence: $(VENV)/ready ## measure how often each rule is right, from the repository's transfers and those of LABELLED
	$(BIN)/python benchmarks/accuracy.py tests/data/labelled $(LABELLED) --confidence bdpcap/limits/confidence.csv

$(VENV)/ready: $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Building bdpcap and installing what it needs (a few minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable . --group test --group lint
# Containers that forbid Python to write bytecode would compile each module at every start.
	@$(BIN)/python -m compileall -q bdpcap
	@touch $@

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12
