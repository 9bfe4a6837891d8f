# make demo    sets everything up, builds, runs the two examples
# make test    sets everything up, builds, runs all tests (C++, lint, Python)
# make test-ops  PyTorch's tables of ops, modules and optimizers, every sample; goes on where it was stopped
# make build   builds the module into torch_tpu/ (after a change: seconds)
# make bench   runs the benchmarks
# make soak    20 minutes of mixed shapes: memory must be flat
# make lint    checks layers and style;  make format  mends the style
# make clean   removes what was built;   make distclean  removes .venv too
#
# PYTHON=python3.12 chooses the interpreter that .venv is made from; JOBS=2 the number of test processes.

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin

export PATH := $(abspath $(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Editable, with the CMake build left to `make build`: a changed file costs one compile and one link, no pip.
INSTALL := $(BIN)/python -m pip install --no-build-isolation \
           --config-settings wheel.cmake=false --config-settings editable.mode=inplace

.PHONY: build demo test test-ops bench soak lint format clean distclean
.DELETE_ON_ERROR:

build: $(VENV)/build.done
	cmake --preset dev -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
	      -DTORCH_TPU_BUILD_TESTS=$$(tools/cpp_test_packages.sh)
	cmake --build --preset dev --target _C

demo: $(VENV)/examples.done build
	$(BIN)/python examples/sentence_similarity.py
	$(BIN)/python examples/train_digits.py

test: $(VENV)/test.done
	tools/cpp_test_packages.sh --install > /dev/null
	$(MAKE) build
	JOBS=$(JOBS) tools/test.sh $(PYTEST_ARGS)

test-ops: $(VENV)/test.done build
	$(BIN)/python tools/test_ops.py --jobs $(JOBS) --docs
	$(BIN)/python tools/gen_docs.py

bench: $(VENV)/test.done
	tools/cpp_test_packages.sh --install > /dev/null
	$(MAKE) build
	cmake --build --preset dev
	tools/bench.sh

soak: $(VENV)/test.done build
	$(BIN)/python tools/soak.py

lint: $(VENV)/test.done
	tools/lint.sh

format: $(VENV)/test.done
	tools/lint.sh --fix

clean:
	rm -rf build dist torch_tpu/_C.*.so

distclean: clean
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: expected Python 3.11 or newer, got $$($(PYTHON) --version). Say which with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import os, sysconfig as s; h = s.get_path("include") + "/Python.h"; os.stat(h)' || \
	  { echo "make: expected the headers of $(PYTHON) (Debian package python3-dev)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "make: expected $(PYTHON) to have the module venv (Debian package python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/build.done: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install $$($(BIN)/python -c \
	  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	$(INSTALL) -e .
	touch $@

$(VENV)/examples.done: $(VENV)/build.done
	$(INSTALL) -e '.[examples]'
	touch $@

$(VENV)/test.done: $(VENV)/build.done
	$(INSTALL) -e '.[test,lint]'
	touch $@ $(VENV)/examples.done
