# Everything goes into .venv. Needed beforehand: Python >= 3.10 (with venv), a C++17 compiler, make, and the package index.
#
#   make demo    index and search the documents in examples/documents
#   make test    the tests          make test TESTS=tests/test_cli.py
#   make lint    ruff, mypy, clang-format
#   make format  put Python and C++ into form

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
TESTS ?=
# Of both cores of a small machine, and no more of a large one than it has.
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

CPP := $(shell find csrc tests -name '*.cpp' -o -name '*.h' -o -name '*.cu')
NATIVE := CMakeLists.txt $(shell find csrc -type f ! -name '*.md')

.PHONY: demo test lint format clean build

demo: $(STAMPS)/build $(STAMPS)/extras $(STAMPS)/model
	$(BIN)/rapidchunk index examples/documents -o build/demo.parquet --max-tokens 250
	$(BIN)/rapidchunk search build/demo.parquet "How do I recover a database after a power failure?" -k 3
	$(BIN)/rapidchunk search build/demo.parquet "Who was swallowed by a great fish?" -k 3

test: $(STAMPS)/build $(STAMPS)/test $(STAMPS)/model
	$(BIN)/python -m pytest -q $(TESTS)

lint: $(STAMPS)/build $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CPP)

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

build: $(STAMPS)/build

clean:
	rm -rf build dist .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: each is made again only when what it comes from is newer.

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or later is needed" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	$(PIP) "scikit-build-core>=0.11" "pybind11>=3.0" "cmake>=3.24" ninja
	@touch $@

# An editable install: edits of Python files are seen at once, C++ is built again by make.
$(STAMPS)/build: $(STAMPS)/venv pyproject.toml $(NATIVE)
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) PATH="$(CURDIR)/$(BIN):$$PATH" \
		$(PIP) --no-build-isolation -Cbuild-dir=build/editable --editable .
	@touch $@

$(STAMPS)/extras: $(STAMPS)/venv pyproject.toml tools/extras.py
	$(PIP) $$($(BIN)/python tools/extras.py cli cpu)
	@touch $@

$(STAMPS)/test: $(STAMPS)/venv pyproject.toml tools/extras.py
	$(PIP) $$($(BIN)/python tools/extras.py cli cpu test)
	@touch $@

$(STAMPS)/lint: $(STAMPS)/venv pyproject.toml tools/extras.py
	$(PIP) $$($(BIN)/python tools/extras.py lint)
	@touch $@

# The encoder of the demo and of the tests, into the user's cache.
$(STAMPS)/model: $(STAMPS)/build | $(STAMPS)/venv
	$(BIN)/rapidchunk models get minilm
	@touch $@
