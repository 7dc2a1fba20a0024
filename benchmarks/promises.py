"""Promises of mathematics, measured where they once failed.

    python benchmarks/promises.py monomials   coarse values: how many of the seeds are wrong
    python benchmarks/promises.py nodes       tasks from scratch with max_nodes, K = 16
    python benchmarks/promises.py portions    Tested under Doubling: cells where the newest is wrong
    python benchmarks/promises.py twins       Doubling where a bad feature coincides with the target
    python benchmarks/promises.py doubling    tasks above 1 + 2 x, or twice a restarting rule
    python benchmarks/promises.py recurring   an earlier model just below the border, -n sites
    python benchmarks/promises.py intervals   95 % intervals of AP and AUROC, -n fits of a design
    python benchmarks/promises.py shared      Tested: accepted above the error, rows shared or not
    python benchmarks/promises.py posterior   Verified: 32 points beside the true expectation

docs/reproduction.md ("Bills that changed since 0.1") quotes what they print.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

import thrifty
from interval_designs import DESIGNS, intervals
from thrifty import bounds, kernels
from thrifty.cells import Cells
from thrifty.labels.classes import read_classes
from thrifty.models.recurring import _candidates, _gains, recognise
from thrifty.powers import Monomials
from thrifty.trees.tree import internal_nodes
from thrifty.trees.verified.certain import gain_of


def monomials(n: int) -> None:
    """y = x9, then y = x5 x9^2, values in [.5, 3] of one decimal."""
    wrong, cells = 0, []
    for seed in range(n):
        random = np.random.default_rng(seed)
        X, Z = (np.round(random.uniform(0.5, 3.0, (200, 10)), 1) for _ in range(2))
        life = thrifty.Lifetime(Monomials(3), random_state=0)
        life.learn("first", X, X[:, 9])
        learned = life.learn("second", Z, Z[:, 5] * Z[:, 9] ** 2)
        wrong += dict(learned.model.exponents_) != {5: 1, 9: 2}
        cells.append(learned.receipt.cells)
    print(f"{wrong} of {n} wrong, {np.mean(cells):.0f} cells on average")


def nodes(n: int) -> None:
    """Targets of three nodes over K = 16 stumps on 24 rows: never more than K from scratch."""
    for learner, improve in itertools.product((thrifty.Paper, thrifty.Race), ("paths", "anchors")):
        most = 0
        for seed in range(n):
            how = learner(max_nodes=3, improve=improve)
            life = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=how), random_state=0)
            routes = [life.learn(f"{i}", *task).route for i, task in enumerate(three_nodes(seed))]
            most = max(most, routes.count("scratch"))
        print(f"{learner.__name__}, {improve}: at most {most} of 120 from scratch (K = 16)")


def three_nodes(seed: int, k: int = 16) -> list[tuple[np.ndarray, np.ndarray]]:
    """Tasks whose greedy tree is the target: a wrong subtree is often pure on so few rows."""
    random = np.random.default_rng(seed)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while len(found) < 120:
        a, b, c = random.choice(k, 3, replace=False)
        X = random.random((24, k)) < 0.5
        X[:, b] &= X[:, a] | (random.random(24) < 0.5)
        X[:, c] &= ~X[:, a] | (random.random(24) < 0.5)
        y = np.where(X[:, a], ~X[:, c], X[:, b]).astype(int)
        tree = thrifty.TreeClassifier().fit(X, y).tree_
        if {path: node.split.feature for path, node in internal_nodes(tree)} == {
            (): a,
            (False,): b,
            (True,): c,
        }:
            found.append((X, y))
    return found


def portions(n: int) -> None:
    """The newest metafeature is of another task; 20,000 rows."""
    for rule in (thrifty.Expansion(), thrifty.Doubling()):
        cells = []
        for seed in range(n):
            family = thrifty.Trees(max_depth=12, learner=thrifty.Tested(random_state=seed))
            life = thrifty.Lifetime(family, agnostic=rule, random_state=seed)
            for i, feature in enumerate((3, 5, 7, 3)):
                X = np.random.default_rng([seed, i]).random((20_000, 40)) < 0.5
                learned = life.learn(f"{i}", X, X[:, feature])
            cells.append(learned.receipt.cells)
        print(f"{type(rule).__name__}: {min(cells):,} to {max(cells):,} cells")


def twins(n: int) -> None:
    """K = 2, r = 38, N = 64, m = 400, S = 40: the 32nd newest coincides with each target."""
    m, N, k, r, s = 400, 64, 2, 38, 40
    random = np.random.default_rng(0)
    family = thrifty.Trees(max_depth=1, learner=thrifty.Paper())
    rules = (thrifty.Doubling(), thrifty.Expansion())
    lives = [thrifty.Lifetime(family, agnostic=rule, random_state=0) for rule in rules]
    bills = np.zeros(2, dtype=int)
    for i, target in enumerate((*range(N - k, N), *range(r), *(N - 1 - i % k for i in range(398)))):
        X = random.random((s, N)) < 0.5
        if i >= k + r:
            stored = [tree.split.feature for tree in lives[0].representation]
            X[:, target] = X[:, stored[-32]]
        learned = [life.learn(f"{i}", X, X[:, target]) for life in lives]
        bills += [task.receipt.cells * (target >= r) for task in learned]
    bound = bounds.doubling(n_tasks=m, n_features=N, n_metafeatures=k, n_unrelated=r, n_examples=s)
    print(f"Doubling {bills[0]:,}, Expansion {bills[1]:,}, the bound without twins {bound:,}")


def doubling(n: int) -> None:
    """Half of 150 tasks are strangers: how many cost more than the two statements allow."""
    family = thrifty.Trees(max_depth=1, learner=thrifty.Paper())
    above, twice, known = 0, 0, 0
    for (N, k, s), seed in itertools.product(((64, 3, 40), (64, 6, 40), (48, 3, 64)), range(n)):
        random = np.random.default_rng(seed)
        few = random.choice(N, k, replace=False)
        rules = (thrifty.Restart(k), thrifty.Restart(2 * k), thrifty.Doubling())
        lives = [thrifty.Lifetime(family, agnostic=rule, random_state=seed) for rule in rules]
        used: dict[int, int] = {}
        for i in range(150):
            target = int(random.choice(few) if random.random() < 0.5 else random.integers(N))
            X = random.integers(0, 2, (s, N), np.uint8)
            *others, ours = (life.learn(f"{i}", X, X[:, target]).receipt.cells for life in lives)
            newer = sum(when > used.get(target, i) for when in used.values())
            known += target in used
            above += target in used and ours > s * (1 + 2 * newer)
            twice += ours > 2 * min(others)
            used[target] = i
    print(
        f"{known:,} tasks whose feature was known: {above} above 1 + 2 x cells an example; "
        f"{twice} tasks above twice a restarting rule"
    )


def recurring(n: int) -> None:
    """The only earlier model keeps a known part of its gain at n sites: how often accepted."""
    rng = np.random.default_rng(5)
    y = (rng.random(1500) < 0.25).astype(int)
    life = thrifty.Lifetime(thrifty.Models(recurring=True), random_state=0)
    life.learn("home", site_rows(rng, y, 1.0), y, spend="60 %")
    (one,) = _candidates(life.representation, read_classes(y))
    codes = np.repeat([0, 1], 50_000)
    none, all_of_it = (
        np.mean(np.split(_gains(one.core, X.astype(float), codes, one.shares, one.lost), 2))
        for X in (site_rows(rng, codes, share)[:, one.features] for share in (0.0, 1.0))
    )
    for part in (0.45, 0.49, 0.7, 0.95):
        share, found = (part * one.gain - none) / (all_of_it - none), 0
        for seed in range(n):
            rng = np.random.default_rng([7, seed])
            y = (rng.random(700) < 0.25).astype(int)
            cells = Cells(site_rows(rng, y, share))
            found += recognise(life.representation, cells, read_classes(y), None, seed) is not None
        print(f"{part:.0%} of the gain at home: {found} of {n} accepted ({found / n:.1%})")


def site_rows(rng: np.random.Generator, y: np.ndarray, share: float) -> np.ndarray:
    """Features of rows with these labels, which tell of the label in a share of the rows."""
    told = np.where(rng.random(len(y)) < share, y, rng.random(len(y)) < 0.25)
    X = rng.random((len(y), 24)) < 0.15
    X[:, :4] = rng.random((len(y), 4)) < np.where(told, 0.6, 0.15)[:, None]
    return X


def shared(n: int) -> None:
    """32 tasks with one label in ten flipped: how many are promised and wrong on new rows."""
    new = np.random.default_rng(99).random((20_000, 40)) < 0.5
    for what, step in (("the same rows", 0), ("half of the rows", 1500), ("new rows", 3000)):
        promised = wrong = n_tasks = 0
        for seed in range(n):
            random = np.random.default_rng(seed)
            X = random.random((3000 + 31 * 3000, 40)) < 0.5
            flipped = random.random(len(X)) < 0.1
            family = thrifty.Trees(max_depth=30, learner=thrifty.Tested(random_state=seed))
            life = thrifty.Lifetime(family, random_state=seed)
            for i in range(32):
                rows = slice(i * step, i * step + 3000)
                exact = i % 4 == 3  # some tasks have no noise: these may well be promised
                y = X[rows, i % 4] ^ (flipped[rows] & ~exact)
                learned = life.learn(f"{i}", X[rows].copy(), y)
                error = np.mean(learned.model.predict(new) != new[:, i % 4])
                promised += bool(learned.receipt.promise)
                wrong += bool(learned.receipt.promise) and error > 0.01
                n_tasks += 1
        print(f"{what}: {promised} of {n_tasks} promised, {wrong} of them above the error")


def posterior(n: int) -> None:
    """A feature whose gain is large once in a hundred cases, as 32 points see it, and truly."""
    ones, looked = np.array([[2], [2]]), np.array([[8], [8]])
    shares, incumbent = np.array([0.5, 0.5]), 0.45
    judged = kernels.judge(
        ones,
        looked,
        np.ones((3, 2, 1)),
        np.array([0.5]),
        shares,
        incumbent,
        0.0,
        kernels.rate_draws(2),
    )
    rates = np.random.default_rng(0).beta(3.0, 7.0, (2, 2_000_000))
    gains = gain_of(rates, shares)
    true = judged[0, 0] * np.maximum(gains - incumbent, 0.0).mean()
    print(f"seen {judged[2, 0]:.2e}, true {true:.2e}: no probability is promised unless certain=")
    X = np.random.default_rng(0).random((2000, 20)) < 0.5
    y = X[:, 3] ^ (np.random.default_rng(1).random(2000) < 0.1)
    for certain in (False, True):
        learner = thrifty.Verified(0.2, 0.1, certain=certain)
        life = thrifty.Lifetime(thrifty.Trees(max_depth=3, learner=learner), random_state=0)
        receipt = life.learn("t", X, y).receipt
        print(f"certain={certain}: {receipt.cells:,} cells, promise {receipt.promise!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = (monomials, nodes, portions, twins, doubling, recurring, intervals, shared, posterior)
    what = {f.__name__: f for f in every}
    parser.add_argument("what", choices=list(what))
    parser.add_argument("-n", type=int, default=3, help="seeds")
    parser.add_argument("--design", choices=list(DESIGNS), help="of intervals: this one alone")
    parser.add_argument("--first", type=int, default=0, help="with --design: the first seed")
    arguments = parser.parse_args()
    if arguments.design is not None:
        intervals(arguments.n, [arguments.design], arguments.first)
    else:
        what[arguments.what](arguments.n)


if __name__ == "__main__":
    main()
