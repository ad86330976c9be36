# SPDX-License-Identifier: MIT
# What can be asked for: `make demo` and `make test` are all a newcomer needs; CI runs
# `make test sanitize-quick`.
#   build   compile and install into the active virtual environment, or into .venv
#   demo    a real model's layers on the emulated chip        examples/demo.py
#   test    the default test suite                            PYTEST_ARGS=... adds arguments
#   check   lint and the quick tests
#   test-tilelang   TileLang programs and the tile-kernels wheel, then both under ASCEND_SIM_CHECK=races, which brings memory; 10 to 14 minutes on two cores at first,
#                   its caches stay in build/tilelang-cache     TILELANG_JOBS=... pytest processes (as many as cores); PYTEST_ARGS="-m tilelang" adds slow cases
#   test-clients    unmodified transformers computes FP8 layers and a small DeepSeek-V3 by deep_gemm
#   test-aarch64    the instruction set compiled for the other processor, under qemu: needs aarch64-linux-gnu-g++ and qemu-aarch64
#   test-clang      the instruction set and kernels given as text, compiled by another compiler          CLANG=... chooses it (clang++)
#   fuzz    10 000 random deep_gemm calls, all backends       FUZZ_CALLS=... FUZZ_SEED=... choose others
#   sanitize         the same, watched by ASan, UBSan and LSan
#   sanitize-quick   200 of them, portable kernels only       90 s with the build
#   bench   simulated against published time                  BENCH_ARGS=... adds arguments
#   speed   how long values and time take on this host, in the speed of plain PyTorch
#   speed-tilelang   what TileLang programs cost on this host; BENCH_ARGS="--triton FOLDER" compares with Triton's interpreter

PYTHON3 ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TILELANG_JOBS ?= $(JOBS)
CLANG ?= clang++
ENVIRONMENT := $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV),$(CURDIR)/.venv)
PYTHON := $(ENVIRONMENT)/bin/python
REQUIRE := $(PYTHON) scripts/environment.py install
# -P keeps the checkout off sys.path: the installed packages are meant, not the source folders of the same names.
RUN := $(PYTHON) -P

.PHONY: build demo test test-tilelang test-clients test-aarch64 test-clang check fuzz sanitize sanitize-quick bench speed speed-tilelang clean
.DEFAULT_GOAL := build

build: $(PYTHON)
	@$(REQUIRE)
	@$(MAKE) --no-print-directory -C csrc -j$(JOBS) PYTHON=$(PYTHON) lib torch
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-input --no-build-isolation .

demo: build
	@$(REQUIRE) demo
	@$(RUN) examples/demo.py

test: build
	@$(REQUIRE) test
	@$(RUN) -m pytest $(PYTEST_ARGS)

check: build
	@$(REQUIRE) test check
	@$(RUN) -m ruff check .
	@$(RUN) -m pytest -q -x tests/deep_gemm tests/formats $(PYTEST_ARGS)

test-tilelang: build
	@$(REQUIRE) test tilelang
	@$(RUN) -m pytest -n $(TILELANG_JOBS) -m "not (large or slow)" tests/toolkit tests/tilelang $(PYTEST_ARGS)
	@ASCEND_SIM_CHECK=races $(RUN) -m pytest -n $(TILELANG_JOBS) -m "tilelang and not slow" -k "not takes" --ignore=tests/tilelang/test_programs.py \
		--ignore=tests/tilelang/tile_kernels/test_reported_fault.py tests/tilelang $(PYTEST_ARGS)

test-clients: build
	@$(REQUIRE) test clients
	@$(RUN) -m pytest -m clients tests/clients $(PYTEST_ARGS)

test-aarch64: build
	@$(REQUIRE) test
	@$(RUN) -m pytest -m aarch64 tests/isa $(PYTEST_ARGS)

test-clang: build
	@$(REQUIRE) test tilelang
	@CXX=$(CLANG) $(RUN) -m pytest -n $(JOBS) -m "not (aarch64 or large or slow)" tests/isa tests/jit $(PYTEST_ARGS)

fuzz: build
	@$(REQUIRE) test
	@FUZZ_CALLS=$(or $(FUZZ_CALLS),10000) FUZZ_SEED=$(or $(FUZZ_SEED),1000000) $(RUN) -m pytest -q -s tests/fuzz

sanitize: build
	@$(REQUIRE) test
	@FUZZ_CALLS=$(or $(FUZZ_CALLS),10000) FUZZ_SEED=$(or $(FUZZ_SEED),2000000) $(RUN) scripts/sanitize.py --jobs $(JOBS) $(PYTEST_ARGS)

sanitize-quick: build
	@$(REQUIRE) test
	@FUZZ_CALLS=$(or $(FUZZ_CALLS),200) $(RUN) scripts/sanitize.py --quick --jobs $(JOBS) $(PYTEST_ARGS)

bench: build
	@$(RUN) -m ascend_sim bench $(BENCH_ARGS)

speed: build
	@$(RUN) benchmarks/host_speed.py $(BENCH_ARGS)

speed-tilelang: build
	@$(REQUIRE) tilelang
	@$(RUN) benchmarks/tilelang_host.py $(BENCH_ARGS)

clean:
	rm -rf build ascend_sim/lib ascend_sim/_C*.so

$(ENVIRONMENT)/bin/python:
	@$(PYTHON3) scripts/environment.py create $(ENVIRONMENT)
