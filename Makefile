# Everything happens in .venv/ at the project's root.
PYTHON ?= python3.11
BIN := .venv/bin
IN_PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile
export TF_CPP_MIN_LOG_LEVEL ?= 2

# laws_all runs the other benchmarks of the laws; data_against_datasets wants packages
# that are not ours, and decoding_speed compares with them where it is given --peer.
BENCHMARKS := laws_all data_speed training_step training_sweep evaluation_speed \
  decoding_speed translation_memory selection

.PHONY: help install quickstart test test-peers test-studies check format bench

help: ## This list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

# The stamp is newer than what it was made from, so a repeated make installs nothing.
.venv/.installed: requirements.lock setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable .
	touch $@

install: .venv/.installed ## Set up .venv from the lock file

quickstart: install ## From synthetic text to a scaling law, a few minutes
	$(BIN)/polyscale run configs/quickstart.yaml

test: install ## Every test that the project itself can run
	$(BIN)/python -m pytest $(IN_PARALLEL)

# Its own environment, which reads .venv's packages: the peers come on top of them.
.venv-peers/.installed: requirements-peers.lock .venv/.installed
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -c "import site; [own] = site.getsitepackages(); \
	  project = own.replace('.venv-peers', '.venv'); \
	  print(f'import site; site.addsitedir({project!r})', \
	  file=open(own + '/project.pth', 'w'))"
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --requirement requirements-peers.lock
	touch $@

test-peers: .venv-peers/.installed ## Against other libraries, runners and real text
	.venv-peers/bin/python -m pytest $(IN_PARALLEL) tests/peers \
	  --ignore tests/peers/pipeline $(PEERS)

test-studies: .venv-peers/.installed ## Small twins of the shipped studies, an hour
	.venv-peers/bin/python -m pytest tests/peers/pipeline

check: install ## Formatter, linter and type checker, as CI runs them
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install ## Let the formatter and the linter's fixes loose
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install ## The claims on speed and accuracy, measured here
	set -e; for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py; done
