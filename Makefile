# The targets for people; CMake does the building. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build
.PHONY: help setup build configure test demo bench bench-peers format clean

JOBS ?= $(shell nproc)
SETUP ?= tools/setup
BUILD := build/release
# A cache of compiled files, when there is one, makes a second clone cheap.
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 20

setup:  ## install the Debian packages that are missing
	@$(SETUP)

configure:
	@mkdir -p build
	@cmake --preset release $(LAUNCHER) > $(BUILD).log 2>&1 || { cat $(BUILD).log; \
	  echo "Packages missing? 'make setup' installs them."; exit 1; }

build: configure  ## build the program: build/release/rapt
	@ninja -C $(BUILD) -j$(JOBS) rapt

test: setup  ## install what is missing, check the sources, build everything, run all tests
	@python3 tools/check_layers.py
	@tools/check_format
	@$(MAKE) configure
	@ninja -C $(BUILD) -j$(JOBS)
	@ctest --test-dir $(BUILD) -j$(JOBS) --output-on-failure

demo:  ## train on English pronunciation, show what was learnt (about ten minutes the first time)
	@recipes/g2p-demo/run

bench: configure  ## run the benchmark of every kernel
	@ninja -C $(BUILD) -j$(JOBS)
	@for bench in $(BUILD)/*_bench; do echo "== $${bench##*/}"; "$$bench"; done

bench-peers: build  ## compare with other software, write docs/guide/performance.md (an hour; tools/bench_peers --quick: a third)
	@tools/bench_peers

format:  ## give every C++ file the format of .clang-format
	@tools/check_format --fix

clean:  ## remove what was built (not what the demo trained)
	rm -rf build
