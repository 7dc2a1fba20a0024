"""Pictures of the documentation, drawn from kept results.

    python benchmarks/pictures.py quality [docs/images]     of README: models.json, together.jsonl
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
    "draw_quality",
    "quality_by_bill",
    "speed_ratios",
    "together_by_bill",
]

_RESULTS = Path(__file__).parent / "results" / "models.json"
#: the bills of the picture, of tasks that come one after another and of labels at once
_BILLS = (0.02, 0.03, 0.05, 0.1, 0.2)
_AT_ONCE_BILLS = (0.05, 0.1, 0.2, 0.4)
#: (a bill, its mean over the sets, the lower and the upper quartile of the sets)
Curve = list[tuple[float, float, float, float]]


def quality_by_bill(lines: list[dict[str, Any]]) -> dict[str, Curve]:
    """Average precision over that of the best model on every cell, second half of the labels.

    Of every set and bill: ours, the way by hand that is best in hindsight, and plain whole rows
    where they were measured on every set.
    """
    from studies.model_tables import by_set

    found: dict[str, dict[float, list[float]]] = {}
    sets = by_set(lines)
    for some in sets.values():
        for bill in _BILLS:
            at = [x for x in some.both(bill, True) if x[1] >= some.n_tasks // 2]
            if not at:
                continue
            full = some.full_ap(at).mean()
            ways = {"Thrifty": some.our_ap(at, bill, True)}
            by_hand = some.pilot_ap(at, bill)
            if by_hand is not None:
                ways["by hand: a pilot and its columns, or rows"] = by_hand[1]
            told = some.pilots[bill]
            rows = [n for n in told.get(at[0], {}) if "rows" in n]
            if rows and all(rows[0] in told.get(x, {}) for x in at):
                ways["whole rows"] = np.array([told[x][rows[0]] for x in at])
            for way, ap in ways.items():
                found.setdefault(way, {}).setdefault(bill, []).append(float(ap.mean() / full))
    return _curves(found, len(sets))


def together_by_bill(lines: list[dict[str, Any]]) -> dict[str, Curve]:
    """The same of all labels of a set on the same rows, means over the splits.

    Ours at once, and whole rows bought once with the model that is best in hindsight.
    """
    full: dict[tuple[str, int], float] = {}
    kept: dict[tuple[str, float, str], dict[int, float]] = {}
    for one in lines:
        name, seed = one["set"], one["seed"]
        if one["what"] == "full":
            full[name, seed] = _best(one["models"])
        elif one["what"] == "at once":
            kept.setdefault((name, one["bill"], "Thrifty"), {})[seed] = float(np.mean(one["ap"]))
        elif one["what"] == "whole rows once":
            key = name, one["bill"], "whole rows, once for all labels"
            kept.setdefault(key, {})[seed] = _best(one["models"])
    found: dict[str, dict[float, list[float]]] = {}
    for (name, bill, way), of_splits in kept.items():
        if bill in _AT_ONCE_BILLS:
            relative = [ap / full[name, seed] for seed, ap in of_splits.items()]
            found.setdefault(way, {}).setdefault(bill, []).append(float(np.mean(relative)))
    return _curves(found, len({name for name, _ in full}))


def _best(models: dict[str, list[float]]) -> float:
    """The mean over the labels of the model that is best in hindsight."""
    return max(float(np.mean(ap)) for ap in models.values())


def _curves(found: dict[str, dict[float, list[float]]], n_sets: int) -> dict[str, Curve]:
    curves = {
        way: [
            (bill, float(np.mean(r)), float(np.quantile(r, 0.25)), float(np.quantile(r, 0.75)))
            for bill, r in sorted(bills.items())
            if len(r) == n_sets  # a mean over fewer sets is another figure
        ]
        for way, bills in found.items()
    }
    return {way: curve for way, curve in curves.items() if curve}


def draw_quality(apart: dict[str, Curve], at_once: dict[str, Curve], path: Path) -> Path:
    """Draw what :func:`quality_by_bill` and :func:`together_by_bill` return, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
    titles = (
        "One task after another, fifteen public sets",
        "All labels at once, seven public sets",
    )
    for axes, curves, title in zip(both, (apart, at_once), titles, strict=True):
        _draw_curves(axes, curves)
        axes.set_title(title, fontsize=11)
    both[0].set_ylabel("average precision, relative")
    figure.supxlabel("cells bought (mean over the sets, and the middle half of them)", fontsize=10)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return path


def _draw_curves(axes: Any, curves: dict[str, Curve]) -> None:
    colours = {"Thrifty": "#0b6e4f"}
    others = iter(("#b35c1e", "#5a5a8c", "#777777"))
    for way, curve in curves.items():
        x = [100 * point[0] for point in curve]
        colour = colours.get(way) or next(others)
        axes.plot(x, [p[1] for p in curve], marker="o", color=colour, label=way, linewidth=2.2)
        axes.fill_between(x, [p[2] for p in curve], [p[3] for p in curve], color=colour, alpha=0.12)
    axes.axhline(1, color="black", linewidth=0.9, linestyle="--")
    bills = sorted({point[0] for curve in curves.values() for point in curve})
    axes.text(
        100 * bills[0], 1.008, "the best model on every cell", ha="left", va="bottom", fontsize=9
    )
    axes.set_xscale("log")
    axes.set_xticks([100 * bill for bill in bills], [f"{100 * bill:g} %" for bill in bills])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")


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


def _published() -> list[dict[str, Any]]:
    """The lines of results/models.json, one for each task again."""
    from studies.model_verdicts import expand

    lines: list[dict[str, Any]] = expand(json.loads(_RESULTS.read_text()))
    return lines


if __name__ == "__main__" and sys.argv[1] == "quality":
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/images")
    shared = [json.loads(line) for line in (_RESULTS.parent / "together.jsonl").open()]
    curves = quality_by_bill(_published()), together_by_bill(shared)
    print(draw_quality(*curves, folder / "quality.png"))
elif __name__ == "__main__" and sys.argv[1] == "asking":
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/images")
    kept = [json.loads(line) for line in (_RESULTS.parent / "afa.jsonl").open()]
    print(draw_asking(asking_curves(kept), folder / "asking.png"))
elif __name__ == "__main__":
    for picture in draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])):
        print(picture)
