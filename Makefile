# make demo | test | browser | examples | docs | bench | figures | native-bench | lint: each sets up what it needs in .venv and build/.
# make more: the tests that take seconds each, which make test leaves out.
# make papers: tests of the papers on 20 states each; make test takes 3.
# make torch: tests of the front end for PyTorch, which is large; TORCH="torch==2.13.0" or so chooses a build.
# make jax: JAX's own check of every function there, which takes minutes to compile.
# make asan | tsan | coverage | fuzz | clang | aarch64 | numpy | variants | wheel: proof of various kinds,
# each in its own folder below build/. TESTS chooses what runs, SECONDS how long.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find core bindings cmake -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.cmake') CMakeLists.txt pyproject.toml
# "native" while developing; "all" builds every instruction set, as wheels do.
ISA ?= native
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

# What needs neither a wheel nor a browser nor minutes of JAX.
HERE := not wheel and not browser and not jax

# make test PYTEST_ARGS= runs the tests one after the other.
PYTEST_ARGS ?= --numprocesses=$(JOBS) --dist=worksteal

.PHONY: demo test more papers browser torch jax examples docs bench figures native-bench lint clean build asan tsan coverage fuzz clang aarch64 numpy variants wheel
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

ifeq ($(ISA),all)
ISA_SETTING := --config-settings=cmake.args=-UJOUNCE_ISA
else
ISA_SETTING := --config-settings=cmake.define.JOUNCE_ISA=$(ISA)
endif

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "numpy>=2.0" cmake ninja
	@touch $@

INSTALL = $(BIN)/python -m pip install --quiet --no-build-isolation $(ISA_SETTING) --editable

# The compiled core and what the command line needs; .test adds what tests and benchmarks need.
$(VENV)/.built-$(ISA): $(SOURCES) | $(VENV)/.tools
	$(INSTALL) ".[cli,view]"
	@rm -f $(VENV)/.built-*
	@touch $@

# JAX's front end is compiled where its headers are installed already.
$(VENV)/.jax: | $(BIN)/python
	$(BIN)/python -m pip install --quiet "jax>=0.5" || echo "JAX is not to be had: its tests are skipped"
	@touch $@

$(VENV)/.test-$(ISA): $(SOURCES) | $(VENV)/.tools $(VENV)/.jax
	$(INSTALL) ".[cli,view,test,bench,docs]"
	@rm -f $(VENV)/.test-* $(VENV)/.built-*
	@touch $@ $(VENV)/.built-$(ISA)

build: $(VENV)/.built-$(ISA)

demo: build
	$(BIN)/jounce demo

# Bytecode is kept: workers, the interpreters that tests start and later runs need not compile again.
test: $(VENV)/.test-$(ISA)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest $(PYTEST_ARGS)

# Other oracles of what the tests show, and what compiles, draws or kills processes: seconds each.
more: $(VENV)/.test-$(ISA)
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "long and $(HERE)"

papers: $(VENV)/.test-$(ISA)
	JOUNCE_PAPERS_STATES=20 $(BIN)/python -m pytest $(PYTEST_ARGS) tests/papers

# The viewer and the documentation in Chromium, which tools/browser.sh installs.
browser: $(VENV)/.test-$(ISA)
	tools/browser.sh
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m browser tests/viewer tests/test_site.py

TORCH ?= torch
torch: $(VENV)/.test-$(ISA)
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "$(HERE)" tests/bridges/test_bridge_torch*.py tests/test_examples_bridges.py
	$(BIN)/python -m pytest tests/test_docs.py -k PyTorch

jax: $(VENV)/.test-$(ISA)
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m jax tests/bridges

examples: $(VENV)/.test-$(ISA)
	set -e; for script in examples/*.py; do echo "$$script"; case "$$script" in *_torch.py) \
	  $(BIN)/python -c "import torch" 2>/dev/null || { echo "skipped: needs PyTorch"; continue; };; esac; \
	  $(BIN)/python "$$script"; done

# The site, in build/site; warnings, such as links that lead nowhere, are errors.
docs: $(VENV)/.test-$(ISA)
	PYTHONPATH=tools $(BIN)/zensical build --clean --strict
	@echo "open build/site/index.html, or: $(BIN)/python -m http.server -d build/site"

# All instruction sets, for the rows of the narrower ones.
bench:
	$(MAKE) $(VENV)/.test-all ISA=all
	$(BIN)/python -m bench

# The figures and pictures of the docs, anew; their headings say where and when. On an idle machine.
figures:
	$(MAKE) $(VENV)/.test-all ISA=all
	$(BIN)/python -m bench dynamics series --save build/figures.json
	$(BIN)/python -m bench.figures build/figures.json docs/images
	$(BIN)/python -m bench.work_precision docs/work-precision.svg
	$(BIN)/python tools/docs_pictures.py

# Kernels against Pinocchio's headers, no Python. Compiling those takes minutes, once.
native-bench: $(VENV)/.test-$(ISA)
	$(BIN)/python -m bench native

lint: $(VENV)/.test-$(ISA)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

# The whole suite by default; threads and signals for races.
TESTS ?= tests
SECONDS ?= 600
PYTEST_HERE = -m pytest -p no:cacheprovider -x -m "$(HERE)"
# Programs of their own that the tests compile do not know the sanitizers.
ALONE = --deselect tests/core --ignore tests/test_add_a_kernel.py --ignore tests/test_bench.py --ignore tests/test_bench_programs.py

# CasADi loads libraries in a way that the address sanitizer refuses (RTLD_DEEPBIND); the sanitizer's own memory
# breaks tests of limits and of memory that stays, and its locks those of forks beside other threads.
NOT_ASAN = --ignore tests/bridges/test_bridge_casadi.py --ignore tests/bridges/test_bridge_casadi_compiled.py \
  --deselect tests/bridges/test_bridge_steps.py::test_by_casadi \
  --deselect tests/test_threads.py::test_too_few_threads_are_no_error \
  --deselect tests/test_threads.py::test_calls_leave_no_memory_behind \
  --deselect tests/test_threads.py::test_a_fork_during_a_call_of_another_thread_works \
  --deselect tests/test_memory.py::test_the_limit_of_the_process_counts \
  --deselect tests/sweeps/test_sweep.py::test_results_beyond_the_memory_go_to_a_file \
  --deselect tests/test_examples_bridges.py::test_exact_derivatives_solve_what_differences_do_not \
  --deselect "tests/test_docs.py::test_snippets_run[docs/bridges.md]" \
  --deselect "tests/test_docs.py::test_each_job_of_the_cookbook_is_one_short_block_that_stands_alone[libraries-CasADi]"
asan: $(VENV)/.test-$(ISA)
	tools/sanitize.sh address $(BIN)/python $(PYTEST_HERE) $(ALONE) $(NOT_ASAN) $(PYTEST_ARGS) $(TESTS)

# The thread sanitizer itself fails after a fork of many threads, has a thread of its own, and needs memory.
NOT_TSAN = --deselect tests/test_threads.py::test_a_fork_during_a_call_of_another_thread_works \
  --deselect tests/test_threads.py::test_a_thread_without_a_core_is_not_waited_for \
  --deselect tests/test_threads.py::test_a_workspace_needs_few_megabytes
tsan: $(VENV)/.test-$(ISA)
	tools/sanitize.sh thread $(BIN)/python $(PYTEST_HERE) $(NOT_TSAN) tests/test_threads.py
	tools/sanitize.sh thread $(BIN)/python tools/stress.py --seconds $(SECONDS)

coverage: $(VENV)/.test-$(ISA)
	tools/coverage.sh $(BIN)/python $(ALONE) $(PYTEST_ARGS) -m "$(HERE)" $(TESTS)

# FUZZ="--calls 1000000 --files 200000" for numbers instead of a time.
FUZZ ?= --seconds $(SECONDS)
fuzz: $(VENV)/.test-$(ISA)
	$(BIN)/python tools/fuzz.py $(FUZZ) --seed $${SEED:-0}

clang: $(VENV)/.test-$(ISA)
	tools/clang.sh $(BIN)/python $(PYTEST_HERE) $(PYTEST_ARGS) $(TESTS)

aarch64:
	tools/aarch64.sh

numpy: $(VENV)/.test-$(ISA)
	tools/numpy.sh $(BIN)/python $(PYTEST_ARGS) -m "$(HERE)" $(TESTS)

# The suite with each instruction set that this processor runs; needs ISA=all.
variants: $(VENV)/.test-$(ISA)
	tools/each_isa.sh $(BIN)/python $(PYTEST_HERE) $(PYTEST_ARGS) $(TESTS)

wheel: $(VENV)/.test-$(ISA)
	tools/wheel.sh $(BIN)/python
	$(BIN)/python -m pytest tests/test_wheel.py -m wheel

clean:
	rm -rf $(VENV) build
