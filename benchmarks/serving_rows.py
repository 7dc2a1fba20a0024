"""One row at a time, and very many: python benchmarks/serving_rows.py [--rows 100000].

A task of physionet_icu is learned at a laboratory's prices, with orders and fees, in SQLite. Then
rows are predicted one by one (median in milliseconds; owned rows, where nothing is bought; and new
ones from a source that is paid for) and in a table of many rows (rows a second), each as it stands
and with ``Sure(0.9)``. Run it with PYTHONPATH of another version for the numbers before.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas

import thrifty

DATA = Path(os.environ.get("THRIFTY_DATA", Path(__file__).resolve().parents[2] / "shared/data"))


def patients() -> tuple[np.ndarray, np.ndarray, list[str], thrifty.PriceList]:
    """Values, deaths, names of the columns, and what they cost."""
    held = np.load(DATA / "physionet_icu.npz", allow_pickle=False)
    prices = thrifty.PriceList.from_json(DATA / "physionet_icu_prices.json")
    names = held["feature_names"].tolist()
    return held["X"].astype(float), held["Y"][:, 0].astype(int), names, prices


def sold(
    X: np.ndarray, rows: list[int], names: list[str], prices: thrifty.PriceList
) -> thrifty.Source:
    """Patients of a laboratory that is asked for every value."""
    place = {n: j for j, n in enumerate(names)}

    def ask(ids: list[object], asked: list[str]) -> np.ndarray:
        return X[np.ix_([int(str(i)) for i in ids], [place[n] for n in asked])]

    return thrifty.Source.from_callable(
        ask,
        examples=rows,
        features=names,
        name="laboratory",
        prices=prices,
        kinds=dict.fromkeys(names, "number"),
        allow_missing=True,
    )


def milliseconds(life: thrifty.Lifetime, rows: list, stop: thrifty.Sure | None) -> str:
    """The median of predictions, one each: by the clock, and of the processor."""
    taken, worked = [], []
    for row in rows:
        began, busy = time.perf_counter(), time.process_time()
        life.predict("death", row, stop=stop)
        taken.append((time.perf_counter() - began) * 1000)
        worked.append((time.process_time() - busy) * 1000)
    return f"{statistics.median(taken):7.1f} ms ({statistics.median(worked):.1f} ms of CPU)"


def main() -> None:
    """Learn, predict, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--one", type=int, default=25, help="how many rows are taken one by one")
    parser.add_argument("--profile", action="store_true", help="where the time of one row goes")
    given = parser.parse_args()
    X, y, names, prices = patients()
    with tempfile.TemporaryDirectory() as folder:
        life = thrifty.Lifetime(store=f"{folder}/icu.db", prices=prices, random_state=0)
        frame = pandas.DataFrame(X, columns=names)
        began = time.perf_counter()
        life.learn("death", frame[:2000], y[:2000], spend="10 %")
        print(f"learned in {time.perf_counter() - began:.1f} s")
        many = pandas.DataFrame(np.resize(X[2000:], (given.rows, X.shape[1])), columns=names)
        for title, stop in (("no stop", None), ("Sure(0.9)", thrifty.Sure(0.9))):
            rows = [frame[2000 + i : 2001 + i] for i in range(given.one)]
            life.predict("death", rows[0], stop=stop)  # what is made once
            if given.profile:
                with cProfile.Profile() as seen:
                    for row in rows:
                        life.predict("death", row, stop=stop)
                pstats.Stats(seen).sort_stats("cumulative").print_stats(45)
            print(f"{title:10} one row of a frame: {milliseconds(life, rows, stop)}", flush=True)
            first = 2000 if stop is None else 2000 + given.one
            beds = [sold(X, [first + i], names, prices) for i in range(given.one)]
            print(f"{title:10} one row, bought:    {milliseconds(life, beds, stop)}", flush=True)
            print(f"{title:10} one row, owned:     {milliseconds(life, beds, stop)}", flush=True)
            began, busy = time.perf_counter(), time.process_time()
            life.predict("death", many, stop=stop)
            taken, worked = time.perf_counter() - began, time.process_time() - busy
            print(
                f"{title:10} {given.rows:,} rows: {given.rows / taken:,.0f} rows/s "
                f"({given.rows / worked:,.0f} a second of CPU)",
                flush=True,
            )


if __name__ == "__main__":
    main()
