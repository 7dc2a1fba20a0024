"""What is tried runs in a fork: what does not change (numpy, numba, pytest) is imported once."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before whoever makes threads is imported

__all__ = ["in_fork"]

for name in (  # before the forks
    "numba", "scipy.optimize", "scipy.stats", "sklearn.ensemble", "sklearn.utils.estimator_checks",
    "hypothesis.strategies", "hypothesis.extra.numpy", "pandas", "sqlalchemy", "pyarrow.parquet",
    "matplotlib.pyplot", "typer.testing", "anyio.pytest_plugin", "httpx", "stamina", "doctest",
    "_hypothesis_pytestplugin", "http.server", "sqlite3", "_pytest.junitxml", "lightgbm",
):  # fmt: skip
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

#: seconds without any work: it waits for something that does not come
ASLEEP = 40
#: bytes of memory that a change may take, whatever it does
MEMORY = 12 * 2**30


def in_fork(
    what: Callable[[Path], int],
    tree: Path,
    seconds: int,
    *,
    plain: bool = False,
    show: bool = False,
) -> int:
    """The status that ``what`` ends with in a copy of the repository, or the signal that ended it.

    ``plain`` leaves kernels uncompiled; ``seconds`` are of the processor, not of the clock: a busy
    machine must not decide. ``what`` is told a folder that is removed afterwards.
    """
    gc.freeze()  # what is imported here is looked through by no child
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        temporary = _temporary(tree, os.getpid())
        temporary.mkdir(parents=True)
        tempfile.tempdir = None  # the variable is looked at anew
        os.environ.update(PYTHONPATH=str(tree / "src"), TMPDIR=str(temporary))
        if plain:
            import numba

            os.environ["NUMBA_DISABLE_JIT"] = "1"
            numba.config.DISABLE_JIT = True
        sys.path[:0] = [str(tree / "src"), str(tree), str(tree / "benchmarks")]
        os.chdir(tree)
        if not show:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
        code = 3
        try:
            code = int(what(temporary))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(_end_of(child))
    shutil.rmtree(_temporary(tree, child), ignore_errors=True)
    return status


def _temporary(tree: Path, child: int) -> Path:
    return tree / ".temporary" / str(child)


def _end_of(child: int) -> int:
    """The status of a child that ends, or that sleeps for so long that it waits for ever."""
    asleep = 0.0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.1)
        state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        asleep = asleep + 0.1 if state == "S" else 0.0
        if asleep > ASLEEP:
            os.kill(child, 9)
