"""Pictures of the documentation, drawn from kept results.

    python benchmarks/pictures.py quality [docs/images]     of README: price_lists.jsonl
    python benchmarks/pictures.py asking [docs/images]      of docs/research/asking.md: afa.jsonl
    python benchmarks/pictures.py bench.json docs/images    of docs/research/speed.md

``python benchmarks/bench.py --large --json > bench.json`` makes the run of the last,
``python benchmarks/afa.py --out benchmarks/results/afa.jsonl`` that of the second.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "asking_curves",
    "cell_shares",
    "draw",
    "draw_asking",
    "draw_price_list",
    "price_list_curves",
    "speed_ratios",
]

_RESULTS = Path(__file__).parent / "results"
#: (a bill, the mean over tasks)
Curve = list[tuple[float, float]]
_OURS, _ROWS, _HAND = "Thrifty", "whole rows", "by hand"
_WHAT = {
    _OURS: "Thrifty",
    _ROWS: "every test on fewer people\n(best of four ways)",
    _HAND: "the cheapest tests, by hand\n(best number of them)",
}


def price_list_curves(lines: list[dict[str, Any]], name: str) -> dict[str, Curve]:
    """Mean average precision of a price list's tasks by bill: ours, whole rows, orders by hand.

    Of the others the way that is best at that bill, in hindsight.
    """
    from price_lists import together

    found: dict[str, Curve] = {_OURS: [], _ROWS: [], _HAND: []}
    here = [line for line in together(lines) if line["set"] == name]
    for bill in sorted({line["bill"] for line in here}):
        tasks = [line for line in here if line["bill"] == bill]
        means = {
            way: float(np.mean([task[way] for task in tasks]))
            for way in tasks[0]
            if (way == "ours" or ", " in way) and all(way in task for task in tasks)
        }
        by_hand = [mean for way, mean in means.items() if "by hand" in way]
        whole = [mean for way, mean in means.items() if ", " in way and "by hand" not in way]
        found[_OURS].append((bill, means["ours"]))
        found[_ROWS].append((bill, max(whole)))
        found[_HAND].append((bill, max(by_hand)))
    return found


def draw_price_list(curves: dict[str, Curve], price: float, title: str, path: Path) -> Path:
    """Draw what :func:`price_list_curves` returns; ``price``: of everything on one row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.2), layout="constrained")
    colours = {_OURS: "#0b6e4f", _ROWS: "#5a5a8c", _HAND: "#b35c1e"}
    for (way, curve), mark in zip(curves.items(), "osD"):
        x, y = zip(*curve)
        axes.plot(x, y, marker=mark, color=colours[way], linewidth=2.2)
        axes.annotate(
            _WHAT[way], (x[-1], y[-1]), (8, 0), textcoords="offset points", va="center",
            color=colours[way], fontsize=10,
        )  # fmt: skip
    bills = [bill for bill, _ in curves[_OURS]]
    axes.set_xscale("log")
    axes.set_xticks(bills, [f"${bill * price:,.0f}\n({bill:.0%})" for bill in bills])
    axes.minorticks_off()
    axes.set_xlim(bills[0] * 0.9, bills[-1] * 3.4)
    axes.set_xlabel("spent on learning, per person (share of what all tests on everybody cost)")
    axes.set_ylabel("average precision on new people")
    axes.set_title(title, fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path


#: of the pictures of asking: what is measured, and what others published (benchmarks/afa.py)
_ASKED = {
    "indicator": ("accuracy", None, ()),
    "cube": ("accuracy", None, ()),
    "digits": ("accuracy", None, ()),
    "spam": (
        "AUROC, %",
        "GDFS",
        ((3, 92.6), (4, 95.3), (5, 95.8), (6, 96.3), (8, 96.6), (10, 96.9)),
    ),
    "physionet_icu": ("F1", "AFABench's GDFS", ((5, 0.43), (16, 0.47))),
    "ckd": ("F1", None, ()),
}


def asking_curves(lines: list[dict[str, Any]]) -> dict[str, list[tuple[int, float, float, float]]]:
    """Of every set: (cells a row, the mean over the splits, the lowest, the highest)."""
    found: dict[str, dict[int, list[float]]] = {}
    for one in lines:
        for k, value in one["curve"]:
            found.setdefault(one["set"], {}).setdefault(int(k), []).append(float(value))
    return {
        name: [(k, float(np.mean(v)), min(v), max(v)) for k, v in sorted(curve.items())]
        for name, curve in found.items()
    }


def draw_asking(curves: dict[str, list[tuple[int, float, float, float]]], path: Path) -> Path:
    """Draw what :func:`asking_curves` returns: a panel for each set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 3, figsize=(9, 5), layout="constrained")
    for axes, (name, (unit, whose, theirs)) in zip(panels.flat, _ASKED.items()):
        curve = curves.get(name, [])
        x, mean, low, high = zip(*curve) if curve else ((), (), (), ())
        axes.plot(x, mean, marker="o", color="#0b6e4f", linewidth=2.2, label="Thrifty")
        axes.fill_between(x, low, high, color="#0b6e4f", alpha=0.15)
        if theirs:
            axes.plot(*zip(*theirs), marker="s", color="#b35c1e", linestyle="--", label=whose)
            axes.legend(frameon=False, loc="best", fontsize=9)
        axes.set_title(name, fontsize=10)
        axes.set_ylabel(unit, fontsize=9)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("cells asked a row", fontsize=9)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path


def speed_ratios(told: dict[str, Any]) -> list[tuple[str, float, float]]:
    """(task and size, times faster than scikit-learn, than XGBoost) for every row of scratch."""
    return [
        (f"{row['task']}\n{row['size']}", row["x faster"], row.get("x faster than xgboost", 0.0))
        for row in told["scratch"]
    ]


def cell_shares(told: dict[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """By model: (data set, share of the cells that predictions needed), most frugal first."""
    shares: dict[str, list[tuple[str, float]]] = {}
    for row in told["metered"]:
        share = row["cells per example"] / row["features"]
        shares.setdefault(row["model"], []).append((row["data"], share))
    return {model: sorted(found, key=lambda pair: pair[1]) for model, found in shares.items()}


def draw(told: dict[str, Any], folder: Path) -> list[Path]:
    """Draw what the functions above return."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    ratios = speed_ratios(told)
    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    places = range(len(ratios))
    for shift, column, label in ((-0.2, 1, "than scikit-learn"), (0.2, 2, "than XGBoost (hist)")):
        heights = [float(ratio[column]) for ratio in ratios]
        bars = axes.bar([p + shift for p in places], heights, 0.4, label=label)
        axes.bar_label(bars, [f"{height:,.0f}" for height in heights], padding=2)
    axes.set_xticks(list(places), [r[0] for r in ratios])
    axes.set_yscale("log")
    axes.set_ylim(1, 40_000)
    axes.set_ylabel("times faster (CPU time)")
    axes.set_title("A tree from scratch, one thread")
    axes.legend(frameon=False, ncols=2, loc="upper left")
    made.append(folder / "bench_scratch.png")
    figure.savefig(made[-1], dpi=120)
    pyplot.close(figure)

    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    for model, found in cell_shares(told).items():
        axes.plot(range(1, len(found) + 1), [100 * s for _, s in found], marker="o", label=model)
    axes.set_xlabel("data sets, the most frugal first")
    axes.set_ylabel("% of the cells of an example")
    axes.set_title("What identical predictions need")
    axes.set_ylim(0, 103)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    made.append(folder / "bench_metered.png")
    figure.savefig(made[-1], dpi=120)
    pyplot.close(figure)
    return made


def _kept(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_RESULTS / name).open()]


if __name__ == "__main__" and sys.argv[1] == "quality":
    from price_lists import price_of_all, priced

    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/images")
    curves = price_list_curves(_kept("price_lists.jsonl"), "nhanes")
    title = "Five conditions predicted from 132 answers and tests (NHANES, US laboratory prices)"
    print(draw_price_list(curves, price_of_all(priced("nhanes")), title, folder / "quality.png"))
elif __name__ == "__main__" and sys.argv[1] == "asking":
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/images")
    print(draw_asking(asking_curves(_kept("afa.jsonl")), folder / "asking.png"))
elif __name__ == "__main__":
    for picture in draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])):
        print(picture)
