# Kernel Workbench: everything starts here. Needs git, make, a C++ compiler, Python 3.11 or later.

VENV     ?= .venv
# The newest of the Pythons that the pinned packages are known to run on; PYTHON=... overrules.
PYTHON   ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIP_ARGS ?=
LAB_ARGS ?=
# TORCH=system takes the PyTorch that PYTHON already has, instead of the pinned one.
TORCH    ?= pinned

BIN      := $(VENV)/bin
PIP       = $(BIN)/python -m pip install --disable-pip-version-check $(QUIET) $(PIP_ARGS)
QUIET     = $(shell test -t 2 || echo --quiet)
NOTEBOOKS = $(wildcard notebooks/*.ipynb)
BUNDLE   := workbench/notebook/static

.PHONY: help setup lab demo test lint bundle chromium clean machine tools

help:
	@echo 'make lab     open the quick start in JupyterLab'
	@echo 'make demo    search three problems from recordings, in under four minutes'
	@echo 'make test    all checks and tests'
	@echo 'make clean   remove what the others made'
	@echo
	@echo 'PYTHON=python3.12   the Python to use      PIP_ARGS="--index-url URL"   where packages come from'
	@echo 'TORCH=system        the PyTorch it has     LAB_ARGS="--no-browser"      options for JupyterLab'

lab: setup machine
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS) notebooks/01_quickstart.ipynb

demo: setup machine
	@$(BIN)/workbench demo

setup: tools $(VENV)/installed

tools:
	@for c in $(CXX) g++ c++ clang++; do command -v $$c >/dev/null && exit 0; done; echo \
	  'make: no C++ compiler: install g++ (Debian: apt install g++; macOS: xcode-select --install)'; exit 1

# Says which backend the commands will choose by themselves.
machine:
	@PATH="$$PATH:/usr/local/cuda/bin"; \
	if gpu=$$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1) \
	  && test -n "$$gpu" && command -v nvcc >/dev/null; \
	then echo "$$gpu with nvcc found: CUDA kernels on the GPU"; \
	else echo 'no NVIDIA GPU with nvcc found: C++ kernels on the CPU'; fi

# Files stand for what is done, so that a second run installs nothing.
$(VENV)/created:
	@test -n "$(PYTHON)" || { echo 'make: no Python 3.11 or later found; name one with PYTHON=...'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'make: $(PYTHON) is not Python 3.11 or later'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo 'make: $(PYTHON) has no venv (Debian: apt install python3-venv)'; exit 1; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 \
	  || $(PYTHON) -m venv --clear $(if $(filter system,$(TORCH)),--system-site-packages) $(VENV)
	@touch $@

$(VENV)/installed: requirements.lock pyproject.toml $(VENV)/created
	@echo 'installing the packages of requirements.lock: once, some minutes'
ifeq ($(TORCH),system)
	@$(BIN)/python -c 'import torch' || { echo 'make: $(PYTHON) has no PyTorch here; leave out TORCH=system, or make clean first'; exit 1; }
	grep -v '^torch==' requirements.lock > $(VENV)/without-torch
	@$(PIP) -r $(VENV)/without-torch
else
	@$(PIP) -r requirements.lock
endif
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/installed-test: requirements-test.lock $(VENV)/installed
	@grep -v '^-r' requirements-test.lock > $(VENV)/test-only
	@$(PIP) -r $(VENV)/test-only
	@touch $@

test: lint bundle chromium
	$(BIN)/pytest $(PYTEST_ARGS)

lint: setup $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --verify $(NOTEBOOKS))

# The committed editor is what js/ builds, byte for byte.
bundle:
	@if ! command -v npm >/dev/null; then echo 'SKIPPED: npm is missing, the editor bundle is not rebuilt'; \
	else set -e; kept=$$(mktemp -d); cp $(BUNDLE)/* "$$kept"; \
	  (cd js && npm ci --silent --no-audit --no-fund && npm run --silent build); \
	  for f in $(BUNDLE)/*; do cmp "$$f" "$$kept/$$(basename "$$f")" \
	    || { echo "make: $$f was not what js/ builds; commit the new one"; exit 1; }; done; \
	  rm -r "$$kept"; echo 'the editor bundle is what js/ builds'; fi

chromium:
	@if command -v chromium >/dev/null || test -n "$$WORKBENCH_CHROMIUM"; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; \
	then echo 'installing chromium for the browser tests'; export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq && apt-get install -y -qq chromium fonts-liberation >/dev/null; fi; \
	command -v chromium >/dev/null || test -n "$$WORKBENCH_CHROMIUM" || printf '%s\n' \
	  '' '*** SKIPPED: no chromium on PATH, the browser tests will not run ***' ''

clean:
	rm -rf $(VENV) demo dist js/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
