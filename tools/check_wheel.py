"""The wheel as a stranger gets it: built, looked into, installed alone, used.

    python tools/check_wheel.py

Makes an environment with nothing but the wheel and what it needs (no optional package), and runs
there what README promises for it: import, a lifetime, the command line, the demo.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("thrifty/py.typed", "thrifty/report/templates/", "thrifty/report/static/")
TRY = """
import numpy as np, thrifty
rng = np.random.default_rng(0)
X = rng.random((300, 12)) < 0.4
y = X[:, 3] | X[:, 7]
life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
learned = life.learn("first", X, y)
assert learned.receipt.cells < X.size
assert np.mean(life.predict("first", X).values == y) > 0.85
"""


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def look_into(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in NEEDED:
        if not any(name.startswith(wanted) for name in names):
            sys.exit(f"the wheel lacks {wanted}")
    stray = [n for n in names if not n.startswith(("thrifty/", "thrifty-"))]
    if stray:
        sys.exit(f"the wheel holds what is not Thrifty's: {stray[:5]}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = built(place / "dist")
        look_into(wheel)
        run(sys.executable, "-m", "twine", "check", "--strict", *(place / "dist").iterdir())
        venv.create(place / "empty", with_pip=True)
        python = place / "empty" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
        there = run(python, "-m", "pip", "list", "--format", "freeze")
        run(python, "-c", TRY, cwd=place)
        command = place / "empty" / "bin" / "thrifty"
        run(command, "--help", cwd=place)
        run(command, "demo", "--quick", cwd=place)
        print(f"{wheel.name}: imports, learns, predicts, demo; {len(there.split())} packages")


if __name__ == "__main__":
    main()
