"""The pictures of docs/benchmarks.md: python benchmarks/pictures.py bench.json docs/images.

``thrifty bench --large --json > bench.json`` makes the run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["cell_shares", "draw", "speed_ratios"]


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


if __name__ == "__main__":
    for picture in draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])):
        print(picture)
