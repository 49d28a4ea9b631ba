# Two commands, each doing all its own set-up on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_STORE := demo.db

.PHONY: demo test setup docs lint types unit weights postgres torture clean

demo: setup weights  ## protocol v2 on a small local model, judged and ranked, offline
	$(BIN)/aib run embedded --judge embedded --runs 2 --store $(DEMO_STORE)

test: setup weights postgres lint types unit  ## everything that CI runs

lint:
	$(BIN)/ruff check src tests docs training benchmarks torture
	$(BIN)/ruff format --check src tests docs training benchmarks torture
	$(BIN)/python docs/build.py --check

types:
	$(BIN)/mypy

unit:
	$(BIN)/pytest -q -n 4 --cov --cov-report=term --cov-fail-under=95

docs: setup  ## write what is made from the code: schemas, help, file tree
	$(BIN)/python docs/build.py

torture: setup  ## the long versions: 300 kills, 200 budgets, fuzzers; an hour (torture/README.md)
	PYTHONPATH=tests $(BIN)/python torture/kills.py --kills 300
	PYTHONPATH=tests $(BIN)/python torture/budgets.py --runs 200
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[torture]'
	$(BIN)/python torture/fuzz.py --seconds 180

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,embedded]'
	touch $@

# the tests start a server of their own; Debian's package puts its programs beside PATH
INITDB = $(shell command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)
AS_ROOT = $(if $(filter 0,$(shell id -u)),,sudo)

postgres:  ## PostgreSQL's server for the tests, by Debian's package where it is missing
	@test -n "$(INITDB)" || { $(AS_ROOT) apt-get update -q && \
	  $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql; }

weights: setup
	$(BIN)/aib embedded install

clean:
	rm -rf $(VENV) $(DEMO_STORE)*
