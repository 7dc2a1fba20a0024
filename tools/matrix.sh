#!/bin/sh
# The tests under every Python from 3.11 on that this machine has; each gets its own environment.
# Prints one line a Python: passed, failed or not there. A version is claimed only where it ran.
cd "$(dirname "$0")/.." || exit 1
failed=0
for version in 3.11 3.12 3.13 3.14; do
  python=""
  for found in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
    if "$found" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$version'.split('.'))))" 2>/dev/null; then
      python=$found
    fi
  done
  if [ -z "$python" ]; then
    echo "Python $version: not on this machine, not run"
    continue
  fi
  if make -s test PYTHON="$python" VENV=".venv-$version" >"matrix-$version.log" 2>&1; then
    echo "Python $version ($("$python" -V)): $(grep -E '[0-9]+ passed' "matrix-$version.log" | head -n 1)"
  else
    echo "Python $version ($("$python" -V)): failed, see matrix-$version.log"
    failed=1
  fi
done
exit $failed
