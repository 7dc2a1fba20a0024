"""Monitoring's two figures by simulation, 1,000 runs each.

    python benchmarks/monitoring.py                 # what is reported: seed 0
    python benchmarks/monitoring.py --choose        # the seeds on which the levels were chosen
    python benchmarks/monitoring.py 3 4             # some lines alone

Scores are normal in both classes, a third of the rows positive, AUROC .80 (a reference of 1,000 or
4,000 rows left out). False alarms: years of daily looks in which the test cries though nothing has
changed. Found: runs of 300 outcomes, 100 positive, after a fall to .70 (positives moved, both
classes moved, or a third of the positives became like negatives), that it notices by the end; and
how many of such runs after 600 outcomes as good as ever, with 300 and with 600 after the fall.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import norm

from thrifty.lifetime.monitoring import Reference, watch

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


def false_alarms(rng, rows, each_day):
    """The test decides at set outcomes: a look a day later than the outcome finds what it found."""
    cried = 0
    for _ in range(RUNS):
        y = rng.random(365 * each_day) < 1 / 3
        cried += watch(reference(rng, rows), scores(rng, y), y).alarm_at is not None
    return cried / RUNS


def found(rng, rows, how, before=0, after=300):
    found = 0
    for _ in range(RUNS):
        good = rng.permutation(np.arange(before) < before // 3)
        bad = rng.permutation(np.arange(after) < after // 3)
        s = np.concatenate([scores(rng, good), scores(rng, bad, how)])
        seen = watch(reference(rng, rows), s, np.concatenate([good, bad]))
        found += seen.alarm_at is not None and seen.alarm_at >= before
    return found / RUNS


CELLS = [
    (rows, what, given)
    for rows in (1000, 4000)
    for what, given in (
        *(("false alarms", each_day) for each_day in (1, 3, 10)),
        *(("found", (how, 0, 300)) for how in ("positives", "both", "some")),
        *(("found", ("both", 600, after)) for after in (300, 600)),
    )
]


def main():
    seed = 20_000 if "--choose" in sys.argv else 0
    which = [int(a) for a in sys.argv[1:] if a.isdecimal()]
    for i, (rows, what, given) in enumerate(CELLS):
        if which and i not in which:
            continue
        rng = np.random.default_rng([seed, i])
        if what == "false alarms":
            said = f"{given} outcomes a day, false alarms in a year"
            figure = false_alarms(rng, rows, given)
        else:
            how, before, after = given
            good = f"after {before} good outcomes, " if before else ""
            said = f"{good}a fall to .70 ({how} moved) found within {after}"
            figure = found(rng, rows, *given)
        print(f"{i}: reference {rows}: {said} {figure:.3f} ({RUNS} runs)", flush=True)


if __name__ == "__main__":
    main()
