"""One line of each file of stored figures, measured again and held beside what is stored.

    python benchmarks/rerun.py                  all of them, some minutes (make bench)
    python benchmarks/rerun.py together sure    those of these files

Stored lines say the commit they were measured at (``studies/kept.py``), and the code has changed
since. Where a line has moved the others of its file may have: the file is measured anew by deleting
it and typing what its benchmark says.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import runpy
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

from studies import kept
from studies.model_verdicts import expand
from thrifty.typing import Json

__all__ = ["RERUN", "rerun"]

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
#: of each file the benchmark, what it is told, and which line it is to measure
RERUN: dict[str, tuple[str, Json]] = {
    "afa.jsonl": ("afa.py spam --splits 1 --out", {"set": "spam", "split": 0}),
    "certificates.jsonl": (
        "sure.py spam --resplits 1 --levels .9 --bills 30_% --out",
        {"set": "spam", "split": 0, "p": 0.9},
    ),
    "classes.jsonl": (
        "classes.py --sets digits --seeds 0 --kept",
        {"set": "digits", "what": "ours", "bill": 0.05},
    ),
    "crime_numbers.jsonl": (
        "crime_numbers.py --seeds 0 --bills .05 --kept",
        {"what": "at once", "bill": 0.05},
    ),
    "free_columns.jsonl": (
        "free_columns.py --sets nhanes --splits 0 --kept",
        {"set": "nhanes", "what": "ours", "bill": 0.05},
    ),
    "gaps.jsonl": (
        "gaps.py --sets support2 --seeds 0 --gaps .8 --kept",
        {"set": "support2 80%", "what": "ours", "bill": 0.05},
    ),
    "guarantee.jsonl": (
        "answers.py guarantee --only spam --kept",
        {"set": "spam", "what": "agree model", "bill": 0.9},
    ),
    "joint.jsonl": ("joint.py digits --splits 1 --out", {"set": "digits", "split": 0}),
    "labels_and_cells.jsonl": (
        "labels_and_cells.py --sets yeast --seeds 0 --kept",
        {"set": "yeast", "bill": 1.0},
    ),
    "price_lists.jsonl": (
        "price_lists.py --sets heart_cost --seeds 0 --bills .05 --kept",
        {"set": "heart_cost", "bill": 0.05},
    ),
    "sure.jsonl": (
        "sure.py emotions --splits 1 --labels 1 --bills 30_% --out",
        {"set": "emotions", "split": 0, "bill": "30 %"},
    ),
    "together.jsonl": (
        "together.py --sets emotions --seeds 0 --bills .05 --kept",
        {"set": "emotions", "what": "at once", "bill": 0.05},
    ),
    "two_answerers.jsonl": (
        "two_answerers.py --seeds 0 --bills .05 --kept",
        {"set": "medical", "what": "large", "bill": 0.05},
    ),
    "laboratory.json": ("laboratory.py --first 1 --seeds 2 --parts predicting --save", {}),
    "models.json": (
        "models.py --sets emotions --seeds 0 --bills .05 --kept",
        {"set": "emotions", "what": "ours", "bill": 0.05},
    ),
    "turney.json": ("turney.py --sets heart_cost --splits 1 --save", {}),
}
#: what names a line; the rest are its figures
NAMES = (
    "set", "seed", "split", "i", "what", "bill", "memory", "kind", "label", "p", "class", "method",
    "error", "may",
)  # fmt: skip
#: of a line, but no figures
OTHERS = (*NAMES, "at", "seconds", "learning", "why", "stated")


class _MeasuredError(Exception):
    """A line was measured: the rest of the benchmark is not run."""


def stored_in(file: str) -> list[Json]:
    text = (RESULTS / file).read_text(encoding="utf-8")
    if file.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    told = json.loads(text)
    if file == "models.json":
        return list(expand(told))
    return told if isinstance(told, list) else [line for part in told.values() for line in part]


def rerun(file: str) -> tuple[Json, Json]:
    """A line as it is stored, and as it is measured now."""
    typed, which = RERUN[file]
    lines = stored_in(file)
    script, *words = typed.split()
    measured: list[Json] = []

    def caught(_path: object, line: Json) -> Json:
        measured.append(line)
        raise _MeasuredError

    with TemporaryDirectory() as folder:
        at = Path(folder) / "kept.jsonl"
        if which:  # all others are there, so that this one is missing
            others = [one for one in lines if any(one.get(k) != v for k, v in which.items())]
            at.write_text("".join(json.dumps(one) + "\n" for one in others))
        told = [word.replace("_%", " %") for word in words]
        with (
            mock.patch.object(kept, "append", caught),
            mock.patch.object(sys, "argv", [script, *told, str(at)]),
            contextlib.suppress(_MeasuredError),
        ):
            runpy.run_path(str(HERE / script), run_name="__main__")
    if not measured:
        raise LookupError(f"{typed} measured nothing: mend what {file} is measured with (RERUN).")
    same = [one for one in lines if all(one.get(k) == measured[0].get(k) for k in NAMES)]
    if not same:
        raise LookupError(f"{typed} measured a line that {file} does not have (RERUN).")
    return same[0], measured[0]


def figures(line: Json, before: str = "") -> Iterator[tuple[str, float]]:
    """What was measured, by its name; of several numbers the mean."""
    for name, value in line.items():
        if isinstance(value, dict):
            yield from figures(value, f"{before}{name} ")
        elif name not in OTHERS and value is not None and not isinstance(value, str):
            numbers = [v for v in np.ravel(np.array(value, dtype=object)) if v is not None]
            yield f"{before}{name}", float(np.mean([np.mean(v) for v in numbers]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", help="without their ending; default: all")
    wanted = parser.parse_args().files
    for file in RERUN:
        if wanted and file.partition(".")[0] not in wanted:
            continue
        began = time.process_time()
        old, new = rerun(file)
        now = dict(figures(new))
        said = ", ".join(f"{k} {v:.4g} -> {now.get(k, np.nan):.4g}" for k, v in figures(old))
        named = " ".join(f"{old[k]}" for k in NAMES if old.get(k) is not None)
        seconds = time.process_time() - began
        print(f"{file}, {named}, at {old['at']}: {said} ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
