"""Tests run in a fork: what does not change (numpy, numba, pytest) is imported once."""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"  # before whoever makes threads is imported

__all__ = ["ROOT", "outcome"]

for name in (  # before the forks
    "numba", "scipy.optimize", "scipy.stats", "sklearn.ensemble", "sklearn.utils.estimator_checks",
    "hypothesis.strategies", "hypothesis.extra.numpy", "pandas", "sqlalchemy", "pyarrow.parquet",
    "matplotlib.pyplot", "typer.testing", "anyio.pytest_plugin", "httpx", "stamina", "doctest",
    "_hypothesis_pytestplugin", "http.server", "sqlite3", "_pytest.junitxml",
):  # fmt: skip
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

ROOT = Path(__file__).resolve().parents[1]
#: seconds without any work: it waits for something that does not come
ASLEEP = 25


def outcome(
    tests: list[str], plugin: object, tree: Path, plain: bool, seconds: int, show: bool = False
) -> int:
    """The status pytest ends with on these files, or the signal that ended it.

    ``tree`` is the copy of the repository they are run in; ``plain`` leaves kernels uncompiled;
    ``seconds`` are of the processor, not of the clock: a busy machine must not decide.
    """
    gc.freeze()  # what is imported here is looked through by no child
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        temporary = _temporary(tree, os.getpid())
        temporary.mkdir(parents=True)
        tempfile.tempdir = None  # the variable is looked at anew
        os.environ.update(PYTHONPATH=str(tree / "src"), TMPDIR=str(temporary))
        if plain:
            import numba

            os.environ["NUMBA_DISABLE_JIT"] = "1"
            numba.config.DISABLE_JIT = True
        sys.path.insert(0, str(tree / "src"))
        sys.dont_write_bytecode = False
        os.chdir(tree)
        if not show:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
        code = 3
        try:
            code = int(pytest.main([
                "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow",
                "-k", "not postgres", "--hypothesis-seed=0",
                "--basetemp", str(temporary / "pytest"), *tests,
            ], plugins=[plugin]))  # fmt: skip
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(_end_of(child))
    shutil.rmtree(_temporary(tree, child), ignore_errors=True)
    return status


def _temporary(tree: Path, child: int) -> Path:
    return tree / ".temporary" / str(child)


def _end_of(child: int) -> int:
    """The status of a child that ends, or that sleeps for so long that it waits for ever."""
    asleep, before = 0, 0
    for look in itertools.count(1):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.25)
        with contextlib.suppress(OSError):  # a busy machine makes it wait too, but not asleep
            state, *numbers = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            asleep += state == "S"
            if look % (4 * ASLEEP) == 0:
                ticks = int(numbers[10]) + int(numbers[11])
                if asleep > 3.6 * ASLEEP and ticks - before < 5 * ASLEEP:
                    os.kill(child, signal.SIGKILL)
                asleep, before = 0, ticks
    raise AssertionError
