#!/bin/sh
# The lowest versions that pyproject.toml allows of what Thrifty itself needs, and the tests that
# need no more than that.
set -e
cd "$(dirname "$0")/.."
python=${1:-python3}
rm -rf .venv-lowest
sh tools/make_venv.sh "$python" .venv-lowest
.venv-lowest/bin/python - >.venv-lowest/lowest.txt <<'PY'
import re, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
some = ("frames", "config", "providers", "plots", "sql")
for need in [*project["dependencies"], *(need for extra in some for need in extras[extra])]:
    name, version = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", need).groups()
    print(f"{name}=={version}.*" if version.count(".") < 2 else f"{name}=={version}")
PY
.venv-lowest/bin/python -m pip install -q -c .venv-lowest/lowest.txt -e '.[frames,config,providers,plots,sql]' pytest hypothesis
# scikit-learn's own checks are called as its newer versions want it; random trees use its builder.
.venv-lowest/bin/python -m pytest -q -m "not slow" -k "not postgres" --ignore tests/trees/test_scikit_learn.py \
  tests/trees tests/cells tests/powers tests/models/test_stack.py
