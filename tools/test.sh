#!/bin/sh
# test.sh BIN: every test, with style, types and imports beside them: one core would wait otherwise.
bin=$1
said=$(mktemp)
trap 'rm -f "$said"' EXIT
{ echo "== style"; "$bin/ruff" check . && echo "== types" && "$bin/mypy" && echo "== imports" &&
  "$bin/lint-imports"; } >"$said" 2>&1 &
beside=$!

# Two processes of one thread each: threads that wait for each other made small fits ten times
# slower. Each begins with half of the tests, in order, so that what a file sets up is set up once.
echo "== tests"
OMP_NUM_THREADS=1 "$bin/python" -m pytest -n 2 --dist worksteal -m "not slow" --durations=25
tests=$?
wait $beside
style=$?
cat "$said"
[ $tests = 0 ] && [ $style = 0 ] || exit 1

echo "== kernels and tree learners against their twins once more, with the JIT off"
NUMBA_DISABLE_JIT=1 "$bin/python" -m pytest -n 2 -m "not slow" \
  tests/kernels tests/trees/test_use_rep.py
