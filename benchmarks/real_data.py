"""Quality against cells on real data: python benchmarks/real_data.py [--write].

Each label of a set is a task with its own fresh 1,500 training rows; everything is held against a
tree that bought every cell. The sets are looked for in THRIFTY_DATA or shared/data beside the
repository; the digits of scikit-learn always run. Figures are kept in benchmarks/results, so that
a long run can be done in parts; ``--write`` puts tables and pictures made of them into docs/.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from thrifty.benchmarks.measure import machine, one_thread, table

DOCS = Path(__file__).resolve().parents[1] / "docs"
KEPT = Path(__file__).resolve().parent / "results" / "real_data.json"
START, END = "<!-- measured: begin -->", "<!-- measured: end -->"
HEADS = ("set", "learner", "AP ratio", "balanced ratio", "cells %", "seeds", "labels")
OURS = (
    "set",
    "AP ratio",
    "AP ratio, same smoothing",
    "cells %",
    "limit %",
    "reused",
    "tasks",
    "seconds, most",
)
PARTS = ("learners", "sites", "money")


def columns(rows: list[dict[str, Any]], heads: tuple[str, ...]) -> str:
    return table([{head: row.get(head, "") for head in heads} for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", help="names of sets; default: those with a target")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=24, help="labels per set, spread; 0: all")
    parser.add_argument("--only", nargs="*", default=(), help="rows to run; default: all")
    parser.add_argument("--parts", nargs="*", default=PARTS, help="learners, sites, money")
    parser.add_argument("--write", action="store_true", help="into docs/real_data.md and images")
    given = parser.parse_args()
    from studies import real_sets

    names = given.sets or ["digits", *real_sets.LIMITS]
    if real_sets.data_folder() is None:
        print("The real data sets are not here (set THRIFTY_DATA): only digits runs.")
        names = ["digits"]
    run(names, given.parts, given.seeds, given.tasks or None, given.only)
    if given.write:
        write(load_kept())


def run(names: list[str], parts: list[str], seeds: int, most: int | None, only: list[str]) -> None:
    from studies import real_data, real_sets

    for name in names:
        data = real_sets.load(name)
        if "learners" in parts:
            rows, curve = real_data.compare_learners(data, seeds=seeds, most=most, only=only)
            labels = min(len(data.labels()), most or 10**9)
            keep("learners", [{**row, "seeds": seeds, "labels": labels} for row in rows])
            keep("curve", curve)
            print(columns(rows, HEADS), flush=True)
        if "sites" in parts and name in ("tmc2007_500", "thyroid0387_cost"):
            sites = real_data.measure_sites(data, seeds=seeds, most=most)
            keep("sites", sites)
            print(table(sites), flush=True)
        if "money" in parts and data.test_cost is not None:
            money = real_data.measure_money(data, seeds=seeds, most=most)
            keep("money", money)
            print(table(money), flush=True)


def load_kept() -> dict[str, list[dict[str, Any]]]:
    kept: dict[str, list[dict[str, Any]]] = (
        json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    )
    return {part: kept.get(part, []) for part in (*PARTS, "curve")}


def keep(part: str, rows: list[dict[str, Any]]) -> None:
    """New figures take the place of older ones of the same set and learner."""
    kept = load_kept()
    new = {(row["set"], row.get("learner")) for row in rows}
    kept[part] = [r for r in kept[part] if (r["set"], r.get("learner")) not in new] + rows
    KEPT.write_text(json.dumps(kept, indent=0), encoding="utf-8")


def write(kept: dict[str, list[dict[str, Any]]]) -> None:
    """Between the two marks of docs/real_data.md; the words around them stay."""
    from studies import real_data, real_pictures, real_sets

    known = {"digits", *real_sets.LIMITS}
    rows = [row for row in kept["learners"] if row["set"] in known]
    others = [r for r in kept["learners"] if r["set"] not in known and r["learner"] == "Verified"]
    ours = [
        {**r, "limit %": real_sets.LIMITS.get(r["set"], "")}
        for r in rows
        if r["learner"] == "Verified"
    ]
    parts = [
        (
            "Verified with its defaults, on sets that were not looked at closely",
            columns(others, OURS),
        ),
        ("The same on the sets that its constants were chosen with", columns(ours, OURS)),
        ("What memory saves", table(real_data.measure_memory(rows))),
        ("The same labels at four sites", table(kept["sites"])),
        ("Money instead of cells", table(kept["money"])),
        ("Every learner", columns(rows, HEADS)),
    ]
    text = "\n\n".join(f"### {title}\n\n{body}" for title, body in parts)
    page = DOCS / "real_data.md"
    head, _, rest = page.read_text(encoding="utf-8").partition(START)
    said = f"Measured on {machine()['processor']}, one core."
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{START}\n\n{said}\n\n{text}\n\n{END}{tail}", encoding="utf-8")
    (DOCS / "images").mkdir(exist_ok=True)
    real_pictures.draw_frontier(rows, DOCS / "images" / "real_data_frontier.png")
    curve = [point for point in kept["curve"] if point["set"] in known]
    real_pictures.draw_bills(curve, DOCS / "images" / "real_data_bills.png")


if __name__ == "__main__":
    one_thread()
    main()
