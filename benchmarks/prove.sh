#!/usr/bin/env bash
# The whole proof: every row, rival, size, memory, scaling and threads (some 20 minutes on two quiet cores), then where the
# time goes (5 minutes). Writes the pages in results/ and prints the README's table.
#
#     PYTHON=python bash benchmarks/prove.sh      # the interpreter that has the rivals
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python}
results=benchmarks/results
run=build/benchmarks.json
mkdir -p build

"$PYTHON" benchmarks/compare.py --all --json "$run"
"$PYTHON" benchmarks/report.py "$run" > "$results/cpu.md"
if command -v valgrind > /dev/null; then
  "$PYTHON" benchmarks/where.py > build/cpu_where.md && mv build/cpu_where.md "$results/cpu_where.md"
fi
"$PYTHON" benchmarks/report.py "$run" --readme
