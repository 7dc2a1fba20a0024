"""Format everything, and take ``# fmt: skip`` off wherever the formatter does as well without it.

    python tools/unskip.py [--most 6]

A comment stays where its statement would grow by more than ``--most`` lines: tables of numbers and
long lists of names, which one item a line makes longer and not clearer. Prints how many stay.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUFF = str(Path(sys.executable).with_name("ruff"))
SKIP = "  # fmt: skip"


def formatted(text: str, path: Path) -> str:
    """What ``ruff format`` makes of the text, with the settings of pyproject.toml."""
    command = [RUFF, "format", "--stdin-filename", str(path), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{path}: {done.stderr}")
    return done.stdout


def unskipped(text: str, path: Path, most: int) -> str:
    """The text, formatted, without the comments that it can do without."""
    lines = text.splitlines(keepends=True)
    before = len(formatted(text, path).splitlines())
    for i in [i for i, line in enumerate(lines) if line.rstrip("\n").endswith(SKIP)]:
        kept, lines[i] = lines[i], lines[i].replace(SKIP, "")
        after = len(formatted("".join(lines), path).splitlines())
        if after - before > most:
            lines[i] = kept
        else:
            before = after
    return formatted("".join(lines), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=6, help="lines that a statement may grow by")
    most = parser.parse_args().most
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    stay = 0
    for path in [ROOT / name for name in listed.split()]:
        text = path.read_text(encoding="utf-8")
        made = unskipped(text, path, most)
        path.write_text(made, encoding="utf-8")
        stay += made.count(SKIP)
    print(f"{stay} comments stay")
    subprocess.run([RUFF, "check", "--quiet", "--select", "I", "--fix", "."], cwd=ROOT, check=True)
    subprocess.run([RUFF, "format", "--quiet", "."], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
