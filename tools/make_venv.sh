#!/bin/sh
# make_venv.sh PYTHON FOLDER: a virtual environment.
# Debian's own Python comes without the part that makes environments; as root it is installed.
set -e
python=$1 folder=$2
command -v "$python" >/dev/null || { echo "there is no $python: set PYTHON=, for instance make test PYTHON=python3.12" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Thrifty needs Python 3.11 or newer; $python is $("$python" -V 2>&1). Set PYTHON=, for instance make test PYTHON=python3.12" >&2
  exit 1
}
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "== installing python3-venv"
    apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  else
    echo "$python cannot make virtual environments: install its venv package (on Debian: apt install python3-venv)" >&2
    exit 1
  fi
fi
"$python" -m venv "$folder"
