# Everything runs in .venv, made with the first Python 3.10 or newer found; PYTHON=... names another.
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo $$candidate; break; }; done)
BIN := .venv/bin

.PHONY: demo test check-engines check-permissions lint bench lock clean

demo: .venv/ready
	PATH="$(CURDIR)/$(BIN):$$PATH" sh integration_tests/revenue/demo.sh

test: .venv/ready
	$(BIN)/python -m pytest -n auto

# On engines that are not installed with the others: PostgreSQL's server programs, and a Python with PySpark and Java.
# What is missing fails with a sentence. Everything listens on the loopback interface alone.
SPARK_PYTHON ?= $(BIN)/python
check-engines: .venv/ready
	SPARK_PYTHON="$(SPARK_PYTHON)" $(BIN)/python -m pytest -m engines -rP --tb=short python/tests/engines

# Takes each permission predicate out of the SQL, one at a time: a test has to fail for every one. It takes about an hour.
check-permissions: .venv/ready
	$(BIN)/python python/tests/mutate_permissions.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every benchmark prints one line a ratio: ratio NAME VALUE limit LIMIT ok|over; made_*.py only make their input.
bench: .venv/ready
	@status=0; for benchmark in $(filter-out benchmarks/made_%,$(wildcard benchmarks/*.py)); do $(BIN)/python $$benchmark || status=1; done; exit $$status

.venv/ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "attest: expected Python 3.10 or newer, found none; name one with make PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	$(BIN)/python -m compileall -q python/dbt_attest  # as an installed package is; every command starts sooner
	touch $@

# Newest versions that fit pyproject.toml, for every Python and platform; dbt-core 1.12 needs a download while building.
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.10 --no-header \
		--fork-strategy requires-python --constraint requirements.in \
		--output-file requirements.lock --upgrade

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
