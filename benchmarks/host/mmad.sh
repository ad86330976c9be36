#!/bin/sh
# SPDX-License-Identifier: MIT
# How fast is host::mmad here? Builds csrc/host alone with csrc/Makefile's rules, then runs the benchmark on one core.
#   benchmarks/host/mmad.sh [level ...]
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build/benchmarks
mkdir -p "$build"
make --no-print-directory -s -C "$root/csrc" OUT="$root/ascend_sim" lib
${CXX:-g++} -std=c++20 -O2 -I"$root/csrc" "$root/benchmarks/host/mmad.cpp" -o "$build/mmad" \
    -L"$root/ascend_sim/lib" -lascend_sim -Wl,-rpath,"$root/ascend_sim/lib"
exec taskset -c 0 "$build/mmad" "$@"
