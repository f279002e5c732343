# `make demo` and `make test` need Python 3.11 to 3.13 and make, nothing else: they build .venv themselves.
#
#   demo          recommend, rank, impute on samples in data/      test          minutes: what to run after an edit
#   test-slow     processes, estimators, every kernel compiled     test-nightly  kills, fuzzing, versions, all variants
#   ptx           each kernel for capability 7.5 to 12.0, recorded in docs/kernels.csv
#   gpu           everything but campaigns on a GPU; fails without one
#   bench         the benchmark tables                             docs          write what is generated (docs/cli.md)
#   reliability   200 kills, 200 signals, 200 rounds of eight threads
#   sanitize      every kernel under compute-sanitizer, on a GPU; goes on where it stopped: make sanitize TOOLS=memcheck
#   site          the documentation as HTML, in build/site
#   lint          ruff                                             check         lint + gates (docs fresh, twins match, ...)
#   fuzz          every kind of input, mutated; goes on where it stopped: make fuzz CASES=200000 SEED=1
#   versions      make test with the lowest and the newest versions of what gpukit needs
#
# Tests run in as many processes as there are cores, 8 at most: make test WORKERS=0 for one alone.

VENV ?= .venv
PY = $(VENV)/bin/python
PYTEST = $(PY) -m pytest
GPUKIT = $(VENV)/bin/gpukit
STAMP = $(VENV)/.installed
SUITABLE = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do $$p -c '$(SUITABLE)' 2>/dev/null && echo $$p && break; done)
WORKERS ?= auto
TESTS = $(PYTEST) -n $(WORKERS) --maxprocesses 8 --dist loadfile
SIMULATED = NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1
# Tests start hundreds of processes: with this set, each would compile Python's own sources anew.
unexport PYTHONDONTWRITEBYTECODE
TITLES = $(wildcard data/titles-sample.csv)

.PHONY: demo test test-slow test-nightly versions ptx gpu sanitize reliability bench docs site lint check fuzz clean

demo: $(STAMP)
	@mkdir -p build
	$(GPUKIT) train-lshmf data/ratings-sample.csv --model build/demo.gpukit --force
	$(GPUKIT) recommend build/demo.gpukit --user $$(awk -F, 'NR == 2 { print $$1 }' data/ratings-sample.csv) -n 5 \
	    $(if $(TITLES),--titles $(TITLES))
	$(GPUKIT) ranksvm data/letor-sample --model build/rank.gpukit --force
	$(GPUKIT) rank build/rank.gpukit data/letor-sample/Fold1/test.txt --output build/demo.scores --metrics --force
	$(GPUKIT) impute data/graph-sample.npz --baselines --output build/demo.npz --force

test: $(STAMP)
	$(TESTS) -m fast
	$(SIMULATED) $(TESTS) -m fast

test-slow: $(STAMP)
	$(TESTS) -m slow
	$(SIMULATED) $(TESTS) -m slow
	$(TESTS) tests/compile

test-nightly: reliability fuzz versions
	$(TESTS) -m nightly --ignore tests/reliability
	$(SIMULATED) $(TESTS) -m nightly
	$(TESTS) -m nightly tests/compile

ptx: $(STAMP)
	GPUKIT_KERNELS_CSV=docs/kernels.csv $(PYTEST) -m 'fast or nightly' tests/compile

gpu: $(STAMP)
	GPUKIT_REQUIRE_GPU=1 $(PYTEST) -m 'not nightly'

TOOLS ?= memcheck racecheck

sanitize: $(STAMP)
	for tool in $(TOOLS); do PYTHONPATH=tests $(PY) -m sanitize --tool $$tool || exit $$?; done

reliability: $(STAMP)
	GPUKIT_ROUNDS=200 $(PYTEST) -m 'fast or slow or nightly' tests/reliability

bench: $(STAMP)
	$(GPUKIT) bench

docs: $(STAMP)
	$(PY) docs/build.py

site: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo 'Open build/site/index.html'

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check --quiet .

check: lint
	$(PYTEST) tests/gates

# The stamp is written last, so that a broken installation is tried again; it is older than the files that it depends on
# when the requirements change.
$(STAMP): setup.py setup.cfg pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed (make PYTHON=/path/to/python3.12)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[test]'
	$(PY) -m compileall -qq -j 0 $(VENV)/lib || true  # as pip does on one core; some packages have templates
	@touch $@

CASES ?= 200000
SEED ?= 1

fuzz: $(STAMP)
	PYTHONPATH=tests $(PY) -m fuzz --cases $(CASES) --seed $(SEED)

# Each in an environment of its own, which stays for the next time.
versions:
	$(MAKE) test VENV=build/lowest PIP_CONSTRAINT=tests/lowest.txt
	rm -rf build/newest
	$(MAKE) test VENV=build/newest

clean:
	rm -rf build dist *.egg-info .pytest_cache
