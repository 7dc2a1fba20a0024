"""The same label met again: an earlier model is accepted as it is where a small sample supports it.

Every task leaves a hypothesis in the memory: its model, and a *core* of it, a model of its 12 best
features with what that explains at its source site, on rows left out there:

    gain = mean over the classes, each counting alike, of log2(q(y | x) C),

q the core's probabilities with all C classes equally likely, in bits a row. A new task with the
same classes, in about the same shares, asks the cores about 8 rows of the rarest class, for at most
4 % of its bill, then the two most promising ones about 32, 64 and 128 rows of each class. One is
accepted where a bet against "it gains at most half of the gain at its source here" has multiplied
its stake by the number of hypotheses that were asked, over 5 % (:mod:`thrifty.models.betting`; one
row of every class is one turn). So a model whose core explains less than that here is taken with a
probability of 5 % at most, over all hypotheses and rounds, whatever the distribution of the gains.
Nothing is said of whether a fresh model would be better still.

What the test bought is the beginning of what the task would buy anyway: the rows stand in the order
in which the task takes them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.cells import Cells
from thrifty.labels.classes import Labels
from thrifty.models.betting import log_capital
from thrifty.models.buying.policy import Bought
from thrifty.models.fits.boosting import in_one_thread
from thrifty.models.fits.fitted import FittedClasses, classes_from_dict
from thrifty.models.fits.fitting import default_fit, fit_classes
from thrifty.models.fits.folds import shuffled_folds
from thrifty.models.learning import LearnedClasses, allowance_of
from thrifty.models.memory.memory import Lesson, Memory
from thrifty.models.table import Table, table_from_dict
from thrifty.typing import EstimatorLike, Json, JsonLike

__all__ = ["hypothesis_of", "recognise"]

# Where nothing else is said: set beforehand; `python benchmarks/sites.py` measured the whole on
# tmc2007_500, one seed (docs/models.md, *The same label at another place*).
#: hypotheses that are kept in mind, the newest
_NEWEST = 40
#: features of a core
_CORE = 12
#: bits that a core must explain at its source to be worth asking
_WORTH = 0.1
#: rows of each class that a core needs
_LEAST_ROWS = 4
#: rows of the rarest class asked about in the first round
_FIRST_ROWS = 8
#: rows of each class asked about in further rounds
_FURTHER_ROWS = (32, 64, 128)
#: hypotheses that are asked
_ASKED = 8
#: those that are asked again
_FINAL = 2
#: of the bill that the first round may take
_FIRST_SHARE = 0.04
#: of the bill that all of it may take
_WHOLE_SHARE = 0.3
#: part of the gain at its source that must be there; with .7, 3 of 15 were accepted only, since 128
#: rows do not show so much
_PART = 0.5
#: a hypothesis goes on from the first round where so many standard errors above its mean reach that
_ERRORS_ABOVE = 2
#: and the mean itself reaches this part of it
_PART_OF_PART = 0.5
#: the error over all hypotheses and rounds: a promise, not a choice
_ERROR = 0.05
#: shares of the classes may differ by this factor
_ALIKE = 1.5
#: bits that a single row can lose: what it could lose bounds the stakes; 4 up to 0.2.dev, noted so
_LOST = -1.0
_LOST_BEFORE = -4.0


@dataclass(frozen=True, eq=False)
class _Hypothesis:
    note: JsonLike
    features: Ints
    core: FittedClasses
    shares: Floats
    gains: Floats
    lost: float

    @property
    def gain(self) -> float:
        return float(self.gains.mean())


def hypothesis_of(learned: LearnedClasses, labels: Labels, seed: int) -> dict[str, Json]:
    """The hypothesis of a learned task, by digest; none where its core explains too little."""
    table = learned.bought.table
    # without beliefs that come from the very rows which are to be left out
    small = replace(table.prefix(_CORE).block(), effects=None, centres=None)
    codes = small.labels.astype(np.int64)
    if np.bincount(codes, minlength=labels.n_classes).min() < _LEAST_ROWS or not small.width:
        return {}
    shares = np.bincount(labels.codes, minlength=labels.n_classes) / len(labels)
    with in_one_thread():
        gains = _gains_at_source(small, codes, shares, seed)
        if gains is None or gains.mean() < _WORTH or gains.min() <= 0:
            return {}
        core = default_fit(small, seed)
    note: Json = {
        "classes": [labels.value(c) for c in range(labels.n_classes)],
        "shares": shares.tolist(),
        "gains": gains.tolist(),
        "lost": _LOST,
        "core": {"features": small.features.tolist(), "fitted": core.to_dict()},
        "fitted": learned.fitted.to_dict(),
        "table": table.to_dict(),
        "words": {name: list(said) for name, said in learned.words.items()},
    }
    return {hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()[:16]: note}


def _gains_at_source(table: Table, codes: Ints, shares: Floats, seed: int) -> Floats | None:
    """The core's gain on rows left out of each class, two halves."""
    half = shuffled_folds(len(codes), 2, seed)
    gains = np.zeros(len(codes))
    for side in (0, 1):
        rest, out = np.flatnonzero(half != side), np.flatnonzero(half == side)
        if len(np.unique(codes[rest])) < len(shares):
            return None
        fitted = default_fit(table.of_rows(rest), seed)
        gains[out] = _gains(fitted, table.filled()[out], codes[out], shares, _LOST)
    return np.array([gains[codes == c].mean() for c in range(len(shares))])


def _gains(
    fitted: FittedClasses, values: Floats, codes: Ints, shares: Floats, lost: float
) -> Floats:
    """Bits that each row gains over a guess among equally likely classes, ``lost`` at least."""
    p = np.full((len(values), len(shares)), 1e-9)
    p[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(values)
    q = p / np.maximum(shares, 1e-9)
    q /= q.sum(axis=1, keepdims=True)
    bits: Floats = np.log2(np.maximum(q[np.arange(len(codes)), codes] * len(shares), 1e-9))
    return np.maximum(bits, lost)


def recognise(
    memory: Memory, cells: Cells, labels: Labels, estimator: EstimatorLike | None, seed: int
) -> tuple[LearnedClasses, str] | None:
    """An earlier model that holds here, and what is promised of it; None: there is none."""
    left = _candidates(memory, labels)
    if not left:
        return None
    test = _Test(cells, labels, seed)
    rare = int(np.bincount(labels.codes).argmin())
    asked = 0
    scored: list[tuple[float, int, _Hypothesis]] = []
    for one in left:
        if asked == _ASKED or not test.may_pay(one, _FIRST_ROWS, _FIRST_SHARE, rare):
            break
        mean, error = test.gain(one, _FIRST_ROWS, rare)
        asked += 1
        at_source = float(one.gains[rare])
        needed = _PART * at_source
        if mean + _ERRORS_ABOVE * error >= needed and mean > _PART_OF_PART * needed:
            scored.append((mean, -asked, one))
    enough = float(np.log(max(asked, 1) / _ERROR))
    for _, _, one in sorted(scored, key=lambda at: at[:2], reverse=True)[:_FINAL]:
        found = _holds(test, one, enough)
        if found is not None:
            return _model_of(one, estimator, seed), _promise(one, found, asked)
    return None


def _holds(test: _Test, one: _Hypothesis, enough: float) -> float | None:
    """The gain here, where the bet says that it is enough; None as soon as that is unlikely."""
    border = _PART * one.gain
    for rows in _FURTHER_ROWS:
        if not test.may_pay(one, rows, _WHOLE_SHARE):
            return None
        turns = test.turns(one, rows)
        if log_capital(turns, border, one.lost) >= enough:
            return float(turns.mean())
        if turns.mean() + turns.std() / len(turns) ** 0.5 < border:
            return None
    return None


def _candidates(memory: Memory, labels: Labels) -> list[_Hypothesis]:
    """Those with the same classes in about the same shares, the newest first."""
    classes = [labels.value(c) for c in range(labels.n_classes)]
    shares = np.bincount(labels.codes, minlength=labels.n_classes) / len(labels)
    found = []
    for note in memory.hypotheses[: -_NEWEST - 1 : -1]:
        source = np.array(note["shares"])
        if note["classes"] != classes or source.min() <= 0:
            continue
        ratio = shares / source
        if ratio.max() <= _ALIKE and ratio.min() >= 1 / _ALIKE:
            features = np.array(note["core"]["features"], dtype=np.int64)
            core = classes_from_dict(note["core"]["fitted"])
            lost = float(note.get("lost", _LOST_BEFORE))
            found.append(_Hypothesis(note, features, core, source, np.array(note["gains"]), lost))
    return found


class _Test:
    """Rows of each class in the order in which the task takes them."""

    def __init__(self, cells: Cells, labels: Labels, seed: int) -> None:
        self.cells, self.allowance = cells, allowance_of(cells)
        self.spent, self.codes = 0.0, labels.codes
        order = np.random.default_rng(seed).permutation(len(labels))
        self.by_class = [order[labels.codes[order] == c] for c in range(labels.n_classes)]

    def rows(self, n: int, only: int | None = None) -> Ints:
        """The first n of every class, as many of each; or of one."""
        some = self.by_class if only is None else [self.by_class[only]]
        n = min(n, *(len(rows) for rows in some))
        return np.concatenate([rows[:n] for rows in some])

    def may_pay(self, one: _Hypothesis, n: int, share: float, only: int | None = None) -> bool:
        if one.features.max(initial=-1) >= self.cells.n_features:
            return False
        price = self.cells.price_of(self.rows(n, only), one.features)
        return self.spent + price <= share * self.allowance

    def gain(self, one: _Hypothesis, n: int, only: int) -> tuple[float, float]:
        """The gain on n rows of a class, and its standard error."""
        gains = self._gains(one, self.rows(n, only))
        # a variance of a quarter, as of two rows, is believed before any row
        variance = (gains.var() * len(gains) + 0.5) / (len(gains) + 2)
        return float(gains.mean()), float((variance / len(gains)) ** 0.5)

    def turns(self, one: _Hypothesis, n: int) -> Floats:
        """The mean gain over one row of every class, n times or as often as there are rows."""
        gains: Floats = self._gains(one, self.rows(n)).reshape(len(self.by_class), -1)
        return np.asarray(gains.mean(axis=0))

    def _gains(self, one: _Hypothesis, rows: Ints) -> Floats:
        self.spent += self.cells.price_of(rows, one.features)
        values = np.asarray(self.cells.get(rows, one.features), dtype=np.float64)
        return _gains(one.core, values, self.codes[rows], one.shares, one.lost)


def _model_of(one: _Hypothesis, estimator: EstimatorLike | None, seed: int) -> LearnedClasses:
    """The whole earlier model."""
    note = one.note
    table = table_from_dict(dict(note["table"]))
    kept = note["fitted"]
    fitted = fit_classes(table, estimator, seed=seed) if kept is None else classes_from_dict(kept)
    words = {name: tuple(said) for name, said in note["words"].items()}
    return LearnedClasses(Bought(table, Lesson()), fitted, words=words)


def _promise(one: _Hypothesis, mean: float, asked: int) -> str:
    return (
        f"an earlier model, accepted as it is: {len(one.features)} of its features gain {mean:.2f} "
        f"bits a row here and {one.gain:.2f} where it was learned. A model that keeps less than "
        f"{_PART:.0%} of its gain is accepted with a probability of {_ERROR:.0%} at most "
        f"({asked} earlier models asked)."
    ).replace("%", " %")
