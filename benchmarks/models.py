"""Any model on few cells: python benchmarks/models.py [--quick] [--sets ...] [--kept FILE].

Each label of a set is a task with its own rows and without ids, so that nothing is owned from
earlier tasks; one test set is held out of all tasks. Ours (``thrifty.Models()``, one lifetime for
each set, seed and bill; a new one for each task: no memory), the better of LightGBM and logistic
regression on every cell, and a class-balanced pilot divided in nine ways, best in hindsight. Lines
are kept, so that a run can be broken off and go on. The sets are looked for in THRIFTY_DATA or
shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from studies.kept import Kept, measured_at
from studies.measure import machine, one_thread, table
from studies.model_run import BILLS, PARTS, run_set
from studies.model_tables import calibration_rows, memory_rows, ratio_rows
from studies.model_tasks import MIXED, WIDE
from studies.model_verdicts import compact, expand, lead_rows

KEPT = Path(__file__).resolve().parent / "results" / "models.jsonl"
MEMORIES = {"with": (True,), "without": (False,), "both": (True, False)}
TABLES = (ratio_rows, lead_rows, memory_rows, calibration_rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=[*WIDE, *MIXED])
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--bills", type=float, nargs="*", default=BILLS, help="shares, as 0.05")
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--memory", choices=tuple(MEMORIES), default="both")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true", help="three sets, 6 labels, 5 %%")
    parser.add_argument("--show", action="store_true", help="only tables of what is kept")
    parser.add_argument("--publish", action="store_true", help="write the lines as one small file")
    given = parser.parse_args()
    if given.quick:
        given.sets, given.labels = ["tmc2007_500", "slashdot", "nhanes"], 6
        given.seeds, given.bills = [0], (0.05,)
        given.kept = given.kept.with_name("models-quick.jsonl")
    kept = Kept(given.kept)
    one_thread()
    for seed in [] if given.show else given.seeds:
        for name in given.sets:
            bills, memories = tuple(given.bills), MEMORIES[given.memory]
            run_set(kept, name, given.labels, seed, bills, memories, tuple(given.parts))
            lines = [line for line in kept.lines if line["set"] == name]
            print(table(ratio_rows(lines)), flush=True)
    print(machine())
    small = given.kept.with_suffix(".json")  # what is published, where no lines are kept
    stored = kept.lines or json.loads(small.read_text())
    print(measured_at(stored))
    lines = kept.lines or expand(stored)
    for rows in TABLES:
        print("\n" + table(rows(lines)))
    if given.publish:
        groups = ",\n".join(json.dumps(group) for group in compact(lines))
        small.write_text(f"[\n{groups}\n]\n")


if __name__ == "__main__":
    main()
