"""A forest that several tasks share, beside each task's own model at the joint lengths.

Where tasks were learned on the same rows, trees that are cut for all of them stand on more labels
than each task has. How much of the forest a length takes is decided for all tasks together, by the
loss of rows left out: a few hundred rows of one task say little. Two lengths are looked at first,
and no more is grown where the forest tells nothing there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thrifty.array_types import Floats, Ints
from thrifty.models.asking.cross_fitted import beginning, fill_between, fitted_places
from thrifty.models.asking.prefixes import Fits
from thrifty.models.fits.fitting import which_categories
from thrifty.models.fits.forest_for_all import ForestForAll
from thrifty.models.fits.logistic import fit_intercepts, softmax
from thrifty.models.fits.mixture import Mixture
from thrifty.models.fits.target import Target
from thrifty.models.fits.tree_sums import TreeSum, add_up

__all__ = ["with_shared_forest"]

#: trees of a forest
TREES = 60
#: features from which on there is one: of fewer, trees cut alike tell no more
FEWEST = 4
#: what the forest may have beside the tasks' own models
SHARES = (0.0, 1 / 3, 2 / 3, 1.0)
#: factors of what it says, of which the best is taken
STRETCHES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
#: of the loss without it, what must be left for it to be taken. Chosen on digits (.74 to .92 from
#: 8 cells on), nhanes, support2 and tmc2007_500 (never below .995); looked at on yeast and emotions
BETTER = 0.99


def with_shared_forest(fits: Sequence[Fits], weights: Sequence[float], seed: int) -> list[Fits]:
    """The same fits, mixed with a shared forest at the lengths where rows left out ask for it.

    All are about the same rows and the same lengths, with the same rows left out.
    """
    return _Shared(fits, weights, seed).run()


class _Shared:
    def __init__(self, fits: Sequence[Fits], weights: Sequence[float], seed: int) -> None:
        self.fits, self.weights, self.seed = list(fits), weights, seed
        self.first = fits[0]
        table = self.first.table
        self.values, told = table.filled(), which_categories(table)
        self.named = np.zeros(table.width, dtype=bool) if told is None else told
        self.targets = [Target(fit.table.labels, len(fit.classes)) for fit in fits]
        self.at = {int(f): j for j, f in enumerate(table.features)}
        self.lengths = [len(some) for some in self.first.beginnings]
        #: by length: what forests say of rows left out, of each task
        self.said: dict[int, list[Floats]] = {}

    def run(self) -> list[Fits]:
        places = [k for k in fitted_places(self.lengths) if self.lengths[k] >= FEWEST]
        if not places:
            return self.fits
        look = {places[len(places) // 2], places[-1]}
        if not any(self._share(k) for k in look):
            return self.fits
        shares = np.zeros(len(self.lengths))
        shares[places] = [self._share(k) for k in places]
        fill_between(shares, self.lengths, places)
        models = [list(fit.models) for fit in self.fits]
        p = [fit.p.copy() for fit in self.fits]
        said = self._between(places)
        for k in np.flatnonzero(shares > 0).tolist():
            which = np.array([self.at[f] for f in self.first.beginnings[k]])
            grown = self._grow(np.arange(len(self.values)), which)
            for t, fit in enumerate(self.fits):
                mixed = _Mixed(fit, k, said[t][k], float(shares[k]))
                models[t][k], p[t][k] = mixed.model(grown.tree_sum(t)), mixed.p
        return [replace(fit, models=some, p=q) for fit, some, q in zip(self.fits, models, p)]

    def _between(self, places: Sequence[int]) -> list[Floats]:
        """Of each task (lengths, rows, columns): what forests say of rows left out."""
        out = []
        for t in range(len(self.fits)):
            scores = np.zeros((len(self.lengths), *self._left_out(places[0])[t].shape))
            scores[places] = [self._left_out(k)[t] for k in places]
            fill_between(scores, self.lengths, places)
            out.append(scores)
        return out

    def _grow(self, rows: Ints, which: Ints) -> ForestForAll:
        return ForestForAll(
            self.values[np.ix_(rows, which)],
            [target.of_rows(rows) for target in self.targets],
            np.ones(len(rows)),
            self.named[which],
            self.seed,
            TREES,
        )

    def _left_out(self, k: int) -> list[Floats]:
        if k in self.said:
            return self.said[k]
        n, found = len(self.values), [np.zeros((0, 0))] * len(self.fits)
        for out, order in self.first.parted or ():
            which = np.array([self.at[f] for f in beginning(order, self.lengths[k])])
            grown = self._grow(np.setdiff1d(np.arange(n), out), which)
            for t, scores in enumerate(grown.scores(self.values[np.ix_(out, which)])):
                if not len(found[t]):
                    found[t] = np.zeros((n, scores.shape[1]))
                found[t][out] = scores
        self.said[k] = found
        return found

    def _share(self, k: int) -> float:
        """What the forest should have at a length, by the summed loss of rows left out."""
        losses = np.zeros(len(SHARES))
        for fit, scores, weight in zip(self.fits, self._left_out(k), self.weights):
            each = [_Mixed(fit, k, scores, share).loss for share in SHARES]
            losses += weight * np.array(each)
        best = int(losses.argmin())
        return SHARES[best] if losses[best] < BETTER * losses[0] else 0.0


class _Mixed:
    """A task's own model at a length with a share of the forest; logits are added.

    The forest's are stretched, so that they are worth what the own model's are.
    """

    def __init__(self, fit: Fits, k: int, forest: Floats, share: float) -> None:
        self.own, self.share = fit.models[k], share
        self.codes, self.weights = fit.table.labels, fit.table.weights
        logs = np.log(np.clip(fit.p[k], 1e-6, 1.0))
        own = logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs
        # few slopes instead of the best one: Newton's steps miss it where classes lie far apart
        losses = [self._loss(stretch * forest)[0] for stretch in STRETCHES]
        self.stretch = STRETCHES[int(np.argmin(losses))]
        self.logits = (1 - share) * own + share * self.stretch * forest
        self.loss, self.shift = self._loss(self.logits)

    def _loss(self, logits: Floats) -> tuple[float, Floats]:
        """Of rows left out, and what is added for the classes to have their shares."""
        shift = fit_intercepts(logits, self.codes, self.weights)
        right = softmax(logits + shift)[np.arange(len(self.codes)), self.codes]
        return -float(np.average(np.log(np.maximum(right, 1e-9)), weights=self.weights)), shift

    @property
    def p(self) -> Floats:
        """Of rows left out."""
        return np.clip(softmax(self.logits + self.shift), 1e-6, 1.0)

    def model(self, forest: TreeSum) -> Mixture:
        own = self.own
        assert isinstance(own, Mixture)
        rest, more = (1 - self.share) * own.slope, self.share * self.stretch
        trees = [(more, forest)]
        if own.trees is not None and rest > 0:
            trees.append((rest * own.shares[2], own.trees))
        whole, of_trees = rest + more, sum(part for part, _ in trees)
        return replace(
            own,
            trees=add_up([(part / of_trees, one) for part, one in trees]),
            shares=(
                rest * own.shares[0] / whole,
                rest * own.shares[1] / whole,
                of_trees / whole,
                0.0,
            ),
            slope=whole,
            intercepts=(1 - self.share) * own.intercepts + self.shift,
        )
