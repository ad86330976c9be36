#!/bin/sh
# SPDX-License-Identifier: MIT
# How fast is csrc/host on this machine? Builds libascend_sim.so and one benchmark, and runs it on one core.
#   benchmarks/host/run.sh mmad [level ...]     MMAD calls, GFLOP/s
#   benchmarks/host/run.sh copy [level ...]     layout copies, GB/s
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build/benchmarks
name=${1:?mmad or copy}
shift
mkdir -p "$build"
make --no-print-directory -s -C "$root/csrc" lib
${CXX:-g++} -std=c++20 -O2 -I"$root/csrc" "$root/benchmarks/host/$name.cpp" -o "$build/$name" \
    -L"$root/ascend_sim/lib" -lascend_sim -Wl,-rpath,"$root/ascend_sim/lib"
exec taskset -c 0 "$build/$name" "$@"
