"""What starting costs: CPU seconds and memory of imports and commands, of two versions in turns.

    python benchmarks/start.py                       this version
    python benchmarks/start.py --beside OTHER/src    and another one, run in turns

Each line is the median of three fresh interpreters; tests count imports (tests/test_start.py). The
last lines learn a first task (1,000 x 20, 20 % of its cells) and ask a first question, each with
what comes before it, with nothing compiled and with kernels from disk; and a command learns a CSV
of 1,000 x 30, to its first line and to its end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"
TIMES = 3

_COST = """
import resource as _r
_u = _r.getrusage(_r.RUSAGE_SELF)
import json as _j, sys as _s
# the peak of this program alone: ru_maxrss begins with that of the one that started it
_m = [int(_l.split()[1]) / 1024 for _l in open("/proc/self/status") if _l.startswith("VmHWM")]
print(_j.dumps([_u.ru_utime + _u.ru_stime, _m[0]]), file=_s.stderr)
"""


_LEARN = """
import numpy as np, thrifty
X = np.random.default_rng(0).normal(size=(1000, 20))
life = thrifty.Lifetime(random_state=0)
life.learn("first", X, X[:, 0] + X[:, 3] > 0, spend="20 %")
"""
_ASK = _LEARN + 'life.ask("first").next'


def run(code: str, src: Path, kernels: str = "") -> tuple[float, float]:
    """CPU seconds and MB of a piece of code in a fresh interpreter; where kernels are kept."""
    kept = {"NUMBA_CACHE_DIR": kernels} if kernels else {}
    # as users have it: compiled once, then read
    given = {key: v for key, v in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code + _COST],
        env={**given, "PYTHONPATH": str(src), "OMP_NUM_THREADS": "1", **kept},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = json.loads(done.stderr.splitlines()[-1])
    return seconds, megabytes


def command(*words: str) -> str:
    """The code of a command, as the entry point runs it."""
    return f"""
import sys
sys.argv = {["thrifty", *words]!r}
from thrifty.cli import main
try:
    main()
except SystemExit:
    pass
"""


#: ends with the first line that a command says
_FIRST_LINE = """
import sys
class Said(Exception):
    pass
def first(text):
    raise Said
sys.stderr.write = first
try:
    {command}
except Said:
    del sys.stderr.write
"""


def to_the_first_line(command: str) -> str:
    """The code of a command up to the first line that it says."""
    return _FIRST_LINE.format(command=command.strip().replace("\n", "\n    "))


def made_table(folder: str) -> str:
    """A CSV of 1,000 rows, 30 numbers and a label."""
    import numpy as np
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(1000, 30)).round(3)
    table = pd.DataFrame(X, columns=[f"f{i}" for i in range(30)])
    path = str(Path(folder) / "table.csv")
    table.assign(label=(X[:, 0] + X[:, 1] > 0).astype(int)).to_csv(path, index=False)
    return path


def made_store(folder: str) -> str:
    """A store of the default family with one task."""
    import numpy as np

    import thrifty

    path = str(Path(folder) / "start.db")
    X = np.random.default_rng(0).normal(size=(300, 8))
    life = thrifty.Lifetime(store=path, random_state=0)
    life.learn("first", X, (X[:, 0] > 0).astype(int))
    return path


def main() -> None:
    """Print a line for each way to start."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, help="src folder of another version")
    sources = [HERE, *filter(None, [parser.parse_args().beside])]
    with tempfile.TemporaryDirectory() as folder:
        store = made_store(folder)
        learn = command("learn", made_table(folder), "--label", "label", "--store", "{store}")
        learn = f"import tempfile\n{learn}".replace("'{store}'", "tempfile.mkdtemp() + '/s.db'")
        ways = {
            "python (nothing)": "",
            "import thrifty": "import thrifty",
            "thrifty --version": command("--version"),
            "thrifty --help": command("--help"),
            "thrifty bill": command("bill", store),
            "thrifty show": command("show", store),
            "thrifty.Lifetime": "import thrifty; thrifty.Lifetime",
            "a first learn": _LEARN,
            "a first question": _ASK,
            "nothing compiled: learn": _LEARN,
            "nothing compiled: ask": _ASK,
            "nothing compiled: line": to_the_first_line(learn),
            "nothing compiled: CSV": learn,
        }
        for name, code in ways.items():
            costs: list[list[tuple[float, float]]] = [[] for _ in sources]
            for src in sources:
                run(code, src)  # byte code is written
            for _ in range(TIMES):
                for src, taken in zip(sources, costs, strict=True):
                    empty = tempfile.mkdtemp(dir=folder) if name.startswith("nothing") else ""
                    taken.append(run(code, src, empty))
            said = []
            for taken in costs:
                seconds = statistics.median(s for s, _ in taken)
                megabytes = statistics.median(m for _, m in taken)
                said.append(f"{seconds:6.2f} s {megabytes:6.0f} MB")
            print(f"{name:24} {'   beside '.join(said)}")


if __name__ == "__main__":
    main()
