#!/bin/sh
# test.sh BIN: every test, and beside them style, types, imports and the kernels without the JIT:
# one core would wait otherwise.
bin=$1
# Stores wait for the disk at every commit. What tests write needs no disk that outlives them: it
# goes to memory where there is plenty of it (PostgreSQL's files, too).
free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${free:-0}" -gt 3000000 ]; then
  TMPDIR=$(mktemp -d /dev/shm/thrifty-XXXXXX)
else
  TMPDIR=$(mktemp -d)
fi
export TMPDIR
# Dozens of processes import the same modules: read once, they are kept as bytecode.
unset PYTHONDONTWRITEBYTECODE
trap 'rm -rf "$TMPDIR"' EXIT
said=$TMPDIR/beside
{
  echo "== style" && "$bin/ruff" check . && "$bin/ruff" format --check --quiet . && echo "== types" && "$bin/mypy" &&
    echo "== imports" && "$bin/lint-imports" &&
    echo "== kernels and tree learners against their twins once more, with the JIT off" &&
    OMP_NUM_THREADS=1 NUMBA_DISABLE_JIT=1 "$bin/python" -m pytest -p no:xdist -p no:cacheprovider \
      -m "not slow" tests/kernels tests/trees/test_use_rep.py
} >"$said" 2>&1 &
beside=$!

# Two processes of one thread each: threads that wait for each other made small fits ten times
# slower. Each begins with half of the tests, in order, so that what a file sets up is set up once.
echo "== tests"
OMP_NUM_THREADS=1 "$bin/python" -m pytest -n 2 --dist worksteal -m "not slow" --durations=25
tests=$?
wait $beside
others=$?
cat "$said"
[ $tests = 0 ] && [ $others = 0 ]
