# make demo | test | bench | lint: each sets up what it needs in .venv and build/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core src/jounce/_core -name '*.hpp' -o -name '*.cpp') CMakeLists.txt pyproject.toml
# "native" while developing; "all" builds every instruction set, as wheels do.
ISA ?= native
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: demo test bench lint clean build
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

ifeq ($(ISA),all)
ISA_SETTING :=
else
ISA_SETTING := --config-settings=cmake.define.JOUNCE_ISA=$(ISA)
endif

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "numpy>=2.0" cmake ninja
	@touch $@

$(VENV)/.built-$(ISA): $(SOURCES) | $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[cli]" $(ISA_SETTING)
	@rm -f $(VENV)/.built-*
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/.built-$(ISA)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[test,bench]" $(ISA_SETTING)
	@touch $@

build: $(VENV)/.built-$(ISA)

demo: build
	$(BIN)/jounce demo

test: $(VENV)/.built-$(ISA) $(VENV)/.test
	$(BIN)/python -m pytest

bench: $(VENV)/.built-$(ISA) $(VENV)/.test
	$(BIN)/python -m bench

lint: $(VENV)/.test
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

clean:
	rm -rf $(VENV) build
