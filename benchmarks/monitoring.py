"""Monitoring's two figures by simulation, 1,000 runs each.

    python benchmarks/monitoring.py

Scores are normal in both classes, a third of the rows positive, AUROC .80 (a reference of 1,000 or
4,000 rows left out). False alarms: years of daily looks in which the test cries though nothing has
changed. Found: runs of 300 outcomes, 100 positive, after a fall to .70 (positives moved, both
classes moved, or a third of the positives became like negatives), that it notices by the end.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from thrifty.lifetime.monitoring import Reference, alarm, watch

RUNS = 1000
HIGH, LOW = (norm.ppf(a) * np.sqrt(2) for a in (0.80, 0.70))


def scores(rng, y, how="nothing"):
    s = rng.normal(size=len(y)) + HIGH * y
    if how == "positives":
        s -= (HIGH - LOW) * y
    elif how == "both":
        s += np.where(y, -1, 1) * (HIGH - LOW) / 2
    elif how == "some":
        s = np.where(y & (rng.random(len(y)) < 1 / 3), rng.normal(size=len(y)), s)
    return s


def reference(rng, rows):
    y = np.arange(rows) % 3 == 0
    s = scores(rng, y)
    return Reference(s[~y], s[y])


def main():
    rng = np.random.default_rng(0)
    print(f"{RUNS} runs")
    for rows in (1000, 4000):
        for each_day in (1, 3, 10):
            false = 0
            for _ in range(RUNS):
                y = rng.random(365 * each_day) < 1 / 3
                learned = reference(rng, rows)
                z = watch(learned, scores(rng, y), y).standard_errors
                limit = alarm(learned.spreads()[2])
                false += bool((z[each_day - 1 :: each_day] > limit).any())
            print(
                f"reference {rows}: {each_day} outcomes a day, false alarms in a year "
                f"{false / RUNS:.3f}",
                flush=True,
            )
        for how in ("positives", "both", "some"):
            found = 0
            for _ in range(RUNS):
                y = rng.permutation(np.arange(300) < 100)
                found += watch(reference(rng, rows), scores(rng, y, how), y).alarm_at is not None
            print(
                f"reference {rows}: a fall to .70 ({how} moved) found {found / RUNS:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
