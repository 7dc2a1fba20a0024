"""Quality against cells on real data: python benchmarks/real_data.py [--write].

Each label of a set is a task with its own fresh 1,500 training rows; everything is held against a
tree that bought every cell. The sets are looked for in THRIFTY_DATA or shared/data beside the
repository; the digits of scikit-learn always run. ``--write`` puts tables and pictures into docs/.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from thrifty.benchmarks.measure import machine, one_thread, table

DOCS = Path(__file__).resolve().parents[1] / "docs"
START, END = "<!-- measured: begin -->", "<!-- measured: end -->"
HEADS = ("set", "learner", "AP ratio", "balanced ratio", "cells %")
MORE = (
    "set", "AP ratio", "AP ratio, same smoothing", "cells %", "limit %", "reused", "tasks",
    "seconds, most",
)  # fmt: skip


def columns(rows: list[dict], heads: tuple[str, ...]) -> str:
    return table([{head: row.get(head, "") for head in heads} for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", help="names of sets; default: those with a target")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=24, help="labels per set, spread; 0: all")
    parser.add_argument("--only", nargs="*", default=(), help="rows to run; default: all")
    parser.add_argument("--no-more", action="store_true", help="leave out sites and money")
    parser.add_argument("--write", action="store_true", help="into docs/real_data.md and images")
    given = parser.parse_args()
    from thrifty.benchmarks import real_data, real_pictures, real_sets

    names = given.sets or ["digits", *real_sets.LIMITS]
    if real_sets.data_folder() is None:
        print("The real data sets are not here (set THRIFTY_DATA): only digits runs.")
        names = ["digits"]
    most = given.tasks or None
    rows, curve, parts = [], [], []
    for name in names:
        more, points = real_data.compare_learners(
            real_sets.load(name), seeds=given.seeds, most=most, only=given.only
        )
        rows, curve = rows + more, curve + points
        print(columns(more, HEADS), flush=True)
    ours = [{**r, "limit %": real_sets.LIMITS.get(r["set"], "")} for r in rows
            if r["learner"] == "Verified"]  # fmt: skip
    parts.append(("Verified with its defaults", columns(ours, MORE)))
    parts.append(("What memory saves", table(real_data.measure_memory(rows))))
    if not given.no_more and real_sets.data_folder() is not None:
        sites, money = [], []
        for name in ("tmc2007_500", "thyroid0387_cost"):
            sites += real_data.measure_sites(
                real_sets.load(name), seeds=min(3, given.seeds), most=most
            )
        for name in ("thyroid0387_cost", "heart_cost"):
            money += real_data.measure_money(real_sets.load(name), seeds=given.seeds, most=most)
        parts.append(("The same labels at four sites", table(sites)))
        parts.append(("Money instead of cells", table(money)))
    parts.append(("Every learner", columns(rows, HEADS)))
    text = "\n\n".join(f"### {title}\n\n{body}" for title, body in parts)
    print(text)
    if given.write:
        facts = machine()
        said = f"{given.seeds} seeds, at most {most} labels a set; {facts['processor']}."
        write(text, said)
        (DOCS / "images").mkdir(exist_ok=True)
        real_pictures.draw_frontier(rows, DOCS / "images" / "real_data_frontier.png")
        real_pictures.draw_bills(curve, DOCS / "images" / "real_data_bills.png")
        print(json.dumps({"written": "docs/real_data.md"}))


def write(text: str, said: str) -> None:
    """Between the two marks of docs/real_data.md; the words around them stay."""
    page = DOCS / "real_data.md"
    old = page.read_text(encoding="utf-8")
    head, _, rest = old.partition(START)
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{START}\n\n{said}\n\n{text}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    one_thread()
    main()
