"""Answers with a guarantee: how often a target is missed, and what a certificate costs.

    python benchmarks/answers.py guarantee --resamplings 200    # --show: what is kept of it
    python benchmarks/answers.py pipeline --repeats 20          # kept in the same file
    python benchmarks/answers.py cost

The oracle is the true label of public sets (THRIFTY_DATA, or ../shared/data). ``guarantee`` learns
a model once per label and draws the rows of the certificate again and again, also for a model that
is worthless (its scores are shuffled) and one that is confidently wrong (the surest third of its
answers is turned round). ``cost`` compares with BARGAIN (SIGMOD 2026), its own code in the same
run (``pip install --group baselines``).
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent))
import baselines
import thrifty
from studies.kept import Kept, measured_at
from thrifty.certified.certify import certify
from thrifty.certified.plan import Target, agreement, recall_of

SETS = ("tmc2007_500", "rcv1s1_500", "yahoo_arts_500", "spam", "slashdot", "bibtex")
#: labels that a model is learned from
LEARN = 300
CONFIDENCE = 0.95
KEPT = Path(__file__).resolve().parent / "results" / "guarantee.jsonl"


@dataclass(frozen=True)
class Label:
    """One label of one set."""

    set: str
    name: str
    X: np.ndarray
    y: np.ndarray


def labels(rows: int, only: list[str], most: int = 3) -> Iterator[Label]:
    """Three labels of each set, the most common ones that are no majority; spam has one."""
    folder = Path(os.environ.get("THRIFTY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    for name in SETS:
        if only and name not in only:
            continue
        z = np.load(folder / f"{name}.npz", allow_pickle=False)
        Y = z["Y"].reshape(len(z["X"]), -1)
        some = np.random.default_rng(0).permutation(len(Y))[:rows]
        common = [j for j in np.argsort(-Y.mean(0), kind="stable") if Y[:, j].mean() < 0.6][:most]
        for j in common:
            yield Label(name, str(j), z["X"][some], Y[some, j].astype(bool))


@dataclass(frozen=True)
class Proxy:
    """What a model gives for each row: the answer, and how doubtful it is."""

    p: np.ndarray
    y: np.ndarray

    @property
    def answered(self) -> np.ndarray:
        return self.p > 0.5

    def worthless(self) -> Proxy:
        return Proxy(np.random.default_rng(0).permutation(self.p), self.y)

    def confidently_wrong(self) -> Proxy:
        sure = np.argsort(-np.abs(self.p - 0.5), kind="stable")[: len(self.p) // 3]
        turned = self.p.copy()
        turned[sure] = 1 - turned[sure]
        return Proxy(turned, self.y)


def bought(label: Label, seed: int) -> tuple[thrifty.Lifetime, np.ndarray]:
    """A lifetime that has learned the label from 300 that it bought, and their rows."""
    life = thrifty.Lifetime(prices=0, random_state=seed)
    oracle = thrifty.Oracle(lambda rows: label.y[rows], price=1)
    task = life.learn("label", label.X, oracle, spend=LEARN)
    return life, task.labelled.rows


def learned(label: Label, seed: int = 0) -> Proxy:
    """Our model from 300 labels that it buys, on the rows that it did not buy."""
    life, rows = bought(label, seed)
    rest = np.setdiff1d(np.arange(len(label.y)), rows)
    found = life.predict("label", label.X[rest])
    return Proxy(found.probabilities[:, 1], label.y[rest])


def certified(proxy: Proxy, which: str, level: float, seed: int) -> tuple[int, bool]:
    """Labels bought, and whether the target was missed."""
    answered = proxy.answered
    wrong = answered != proxy.y
    target: Target = (
        agreement(len(wrong), level) if which == "agree" else recall_of(answered, level)
    )
    done = certify(
        target,
        np.minimum(proxy.p, 1 - proxy.p),
        answered.astype(int),
        lambda rows: wrong[rows],
        alpha=1 - CONFIDENCE,
        rng=np.random.default_rng(seed),
    )
    return int(done.bought.sum()), target.deficit(wrong, done.bought) > 1e-9


TARGETS = (("agree", 0.9), ("agree", 0.95), ("recall", 0.9))


def guarantee(args: argparse.Namespace) -> None:
    """Misses in so many resamplings of each certificate; lines are kept, and a run goes on."""
    _kept_lines(args, _resample)


def pipeline(args: argparse.Namespace) -> None:
    """The whole of it, labels for learning included, again and again; kept beside them."""
    _kept_lines(args, _whole)


def _kept_lines(
    args: argparse.Namespace, measure: Callable[[Label, argparse.Namespace, Kept], None]
) -> None:
    kept = Kept(args.kept)
    if not args.show:
        for label in labels(args.rows, args.only, args.labels):
            measure(label, args, kept)
    print(measured_at(kept.lines))
    for line in kept.lines:
        print(
            f"{line['set']:<15} {line['i']:>4} {line['what']:<24} {line['bill']:<5} "
            f"{line['missed']:>3} of {line['seed']} missed, {line['asked']:>4.0%} asked"
        )
    for times in sorted({line["seed"] for line in kept.lines}):
        missed = [line["missed"] for line in kept.lines if line["seed"] == times]
        print(
            f"{len(missed)} lines of {times}: at most {max(missed)} missed, {sum(missed)} in all, "
            f"{np.mean(np.array(missed) > 0):.0%} of the lines have one; {0.09 * times:.0f} of "
            f"{times} are allowed"
        )


def _resample(label: Label, args: argparse.Namespace, kept: Kept) -> None:
    own: Proxy | None = None
    for which, level in TARGETS:
        for kind in ("model", "worthless", "confidently_wrong"):
            # the kept lines' own words: a seed for each resampling, a bill for the level
            key = {"set": label.set, "seed": args.resamplings, "i": label.name, "bill": level}
            key["what"] = f"{which} {kind}"
            if kept.has(**key):
                continue
            own = own or learned(label)
            proxy = own if kind == "model" else getattr(own, kind)()
            runs = Parallel(n_jobs=args.n_jobs)(
                delayed(certified)(proxy, which, level, seed) for seed in range(args.resamplings)
            )
            missed = int(sum(bad for _, bad in runs))
            asked = float(np.mean([n for n, _ in runs]) / len(proxy.y))
            kept.add({**key, "missed": missed, "asked": round(asked, 4)})


def _answer(
    life: thrifty.Lifetime, label: Label, rows: np.ndarray, **promise: float
) -> thrifty.results.Answers:
    """Answers of a lifetime that learned from these rows, none from an earlier certificate."""
    known: list[bool | None] = [None] * len(label.y)
    for row in rows.tolist():
        known[row] = bool(label.y[row])
    oracle = thrifty.Oracle(lambda rows: label.y[rows], price=1, known=known, name=f"{promise}")
    return life.answer("label", label.X, oracle=oracle, confidence=CONFIDENCE, **promise)


def _whole(label: Label, args: argparse.Namespace, kept: Kept) -> None:
    keys = [
        {"set": label.set, "seed": args.repeats, "i": label.name, "bill": level,
         "what": f"{which} pipeline"}
        for which, level in TARGETS
    ]  # fmt: skip
    if all(kept.has(**key) for key in keys):
        return
    missed, asked = np.zeros((2, len(TARGETS)))
    for seed in range(args.repeats):
        life, rows = bought(label, seed)
        for k, (which, level) in enumerate(TARGETS):
            found = _answer(life, label, rows, **{which: level}, random_state=seed)
            said = found.values.astype(bool)
            right = (said == label.y).mean() if which == "agree" else said[label.y].mean()
            missed[k] += right < level - 1e-12
            asked[k] += found.by_oracle.mean() / args.repeats
    for k, key in enumerate(keys):
        kept.add({**key, "missed": int(missed[k]), "asked": round(float(asked[k]), 4)})


def regression(label: Label, rows: np.ndarray) -> np.ndarray:
    """What one would write by hand: logistic regression on these rows, scores of all."""
    X = label.X.astype(np.float64)
    mean, spread = X[rows].mean(0), X[rows].std(0) + 1e-3
    fitted = LogisticRegression(C=0.05, max_iter=500).fit((X[rows] - mean) / spread, label.y[rows])
    return np.asarray(fitted.predict_proba((X - mean) / spread)[:, 1])


def bargain(proxy: Proxy, level: float, seed: int) -> int:
    """Calls of the oracle by BARGAIN_A."""
    sure = np.maximum(proxy.p, 1 - proxy.p)
    _, used = baselines.bargain(proxy.answered, sure, proxy.y, level, seed, CONFIDENCE)
    return int(used.sum())


def cost(args: argparse.Namespace) -> None:
    """Calls of the oracle, with the same scores and with learning included."""
    same, whole = [], []
    for label in labels(args.rows, args.only, args.labels):
        ours: dict[float, list[int]] = {0.9: [], 0.95: []}
        theirs: dict[float, list[int]] = {0.9: [], 0.95: []}
        all_ours: dict[float, list[int]] = {0.9: [], 0.95: []}
        for seed in range(args.seeds):
            random = np.random.default_rng(seed).permutation(len(label.y))[:LEARN]
            rest = np.setdiff1d(np.arange(len(label.y)), random)
            proxy = Proxy(regression(label, random)[rest], label.y[rest])
            life, rows = bought(label, seed)
            for level in (0.9, 0.95):
                ours[level].append(certified(proxy, "agree", level, seed)[0])
                theirs[level].append(bargain(proxy, level, seed))
                found = _answer(life, label, rows, agree=level, random_state=seed)
                all_ours[level].append(int(found.by_oracle.sum()))
        for level in (0.9, 0.95):
            mine, their = np.mean(ours[level]), np.mean(theirs[level])
            total, peer = np.mean(all_ours[level]), LEARN + their
            same.append(mine / their)
            whole.append(total / peer)
            print(
                f"{label.set:<15} {label.name:>4} agree {level:<5} same scores {mine:6.0f} : "
                f"{their:6.0f} = {same[-1]:.2f}   learning included {total:6.0f} : {peer:6.0f} "
                f"= {whole[-1]:.2f}",
                flush=True,
            )
    print(
        f"same scores: mean {np.mean(same):.2f}, largest {np.max(same):.2f} (1.05 allowed); "
        f"learning included: mean {np.mean(whole):.2f} (.80 allowed), largest "
        f"{np.max(whole):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["guarantee", "pipeline", "cost"])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--resamplings", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--labels", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kept", type=Path, default=KEPT, help="lines of guarantee, pipeline")
    parser.add_argument("--show", action="store_true", help="only the kept lines")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    {"guarantee": guarantee, "pipeline": pipeline, "cost": cost}[args.what](args)


if __name__ == "__main__":
    main()
