"""``Verified(epsilon, delta)``: evidence instead of consistency, for noisy data.

The three rungs, cheapest first:

1. *reused*: a whole earlier model does here what it did at home
   (:mod:`thrifty.trees.verified.recurring`).
2. *screened*: a tree is grown, every purchase judged by what it is expected to improve
   (:mod:`thrifty.trees.verified.value_of_looks`), starting from what earlier tasks taught of the
   features.
3. *scratch*: the same, when in the end every cell was bought; also where there are so few rows that
   a first look is all of them.

What is computed, and no more is promised: a rival is dropped at its first look when the mean, over
32 fixed points of its posterior (its rates are independent Betas, or one Beta when it is useless),
of what it would explain beyond the incumbent is at most epsilon * delta / N of the label's entropy.
That is a price, not a probability. 32 points see nothing rarer than one in 32, so the mean can be
many times too small where a large gain is unlikely, and Markov's inequality at delta / N does not
follow from it; the posterior is a model, not the truth; rivals dropped later are dropped against
the price of a larger batch; and a tree of good splits is not the best tree.
``tests/guarantees/test_verified.py`` measures how often the chosen split is within epsilon.
``certain=True`` drops by confidence bounds instead (:mod:`thrifty.trees.verified.certain`): it
keeps a promise with probability 1 - delta, which the receipt states, needs no model of the
features and many more cells, and it tests no earlier models.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.array_types import Ints
from thrifty.attempt import Expected, Failed, Found, Route
from thrifty.cells import Door
from thrifty.checks import a_flag, a_share, set_checked
from thrifty.errors import BadInput
from thrifty.labels.classes import Labels
from thrifty.trees.tree import Leaf, Node, Tree
from thrifty.trees.verified.belief import FeatureBeliefs, first_belief
from thrifty.trees.verified.certain import CertainLooks
from thrifty.trees.verified.experience import Experience
from thrifty.trees.verified.leaf_rates import pruned, smoothed
from thrifty.trees.verified.recurring import Recurring
from thrifty.trees.verified.value_of_looks import Looks, RootFindings, Terms
from thrifty.typing import Json, JsonLike

__all__ = ["Verified"]

_SEED = 41_203


@dataclass(frozen=True)
class _Taught:
    """What ImproveRep takes from an attempt: the tree with its counts, the looks at features."""

    tree: Tree
    account: RootFindings
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class Verified:
    """Evidence instead of consistency, for real and noisy data.

    A rival feature is dropped once what it is expected to explain beyond the feature that was
    chosen is below a price, ``epsilon * delta`` of the label's entropy over all rivals. Smaller
    values buy more; without ``certain`` only their product counts, and no probability is promised.

    Parameters
    ----------
    epsilon : float
        Part of the label's entropy that a rival may explain beyond the feature chosen; with
        ``certain`` no node loses more.
    delta : float
        With ``certain``, the probability with which some node does.
    certain : bool
        Drop rivals by confidence bounds instead: a theorem
        (:mod:`thrifty.trees.verified.certain`) for many more cells.

    Examples
    --------
    >>> import thrifty
    >>> thrifty.Trees(max_depth=6, learner=Verified(epsilon=0.1)).learner.delta
    0.1
    """

    missing: ClassVar[str] = "error"
    #: numbers, categories and gaps come as bits
    reads: ClassVar[frozenset[str]] = frozenset({"boolean"})

    epsilon: float = 0.125
    delta: float = 0.1
    certain: bool = False

    def __post_init__(self) -> None:
        set_checked(
            self,
            epsilon=a_share("epsilon", self.epsilon),
            delta=a_share("delta", self.delta),
            certain=a_flag("certain", self.certain),
        )

    def start(self) -> Experience:
        """Nothing learned yet."""
        return Experience()

    def weigh(self, labels: Labels) -> Labels:
        """Rows weigh the same."""
        return labels

    def expected_cells(self, experience: Experience, cells: Door, max_depth: int) -> Expected:
        """Known from earlier receipts alone."""
        return Expected()

    def use_rep(
        self, experience: Experience, cells: Door, labels: Labels, max_depth: int
    ) -> Found[Tree]:
        """An earlier model that holds here, or a tree grown on evidence."""
        _only_booleans(cells)
        codes, back = _codes_in_use(labels)
        if len(back) == 1:  # nothing to tell apart, nothing to buy
            counts = np.bincount(labels.codes, minlength=labels.n_classes)
            return Found("reused", Leaf(int(back[0]), tuple(counts.tolist())))
        order = cells.row_order(_SEED)
        terms = Terms(self.epsilon, self.delta, max_depth)
        kind = CertainLooks if self.certain else Looks
        task = kind(cells, codes, order, terms)
        tree = None
        belief: FeatureBeliefs | None = None
        if len(experience) and len(back) == labels.n_classes and not self.certain:
            known = Recurring(experience, cells, codes, task.rows, task.first)
            if known.left:
                belief = _first_look(experience, task)
                tree = known.accepted(float(task.judged(belief)[1].max()))
        if tree is not None:
            return Found("reused", smoothed(tree))
        tree = task.grow(belief or _first_look(experience, task))
        taught = _Taught(tree, task.account, task.shares)
        model = smoothed(_in_all_classes(pruned(tree)[0], back, labels.n_classes))
        route: Route = "scratch" if cells.everything_is_bought else "screened"
        promise = ""
        if self.certain:
            promise = (
                f"with probability {1 - self.delta:g} over the order of rows, no split loses more "
                f"than {self.epsilon:g} of the label's entropy against the best of all features"
            )
        return Found(route, model, grown=taught, promise=promise)

    def from_scratch(
        self, cells: Door, labels: Labels, failed: Failed | None, max_depth: int
    ) -> Found[Tree]:
        """The same without experience."""
        return self.use_rep(Experience(), cells, labels, max_depth)

    def improve_rep(self, experience: Experience, found: Found[Tree]) -> Experience:
        """What the looks at every feature found, and the model."""
        taught = found.grown
        if not isinstance(taught, _Taught):
            return experience
        account = taught.account
        after = experience.after(account.ones, account.looked, taught.shares, account.likely)
        core, explained = pruned(taught.tree, per_split=math.log2(len(account.likely)))
        return after.with_model(pruned(taught.tree)[0], core, explained)

    def load_representation(self, data: JsonLike) -> Experience:
        """The inverse of ``representation.to_dict()``."""
        return Experience.from_dict(data)

    def to_dict(self) -> Json:
        """Name and parameters, for JSON."""
        return {"learner": "Verified", **asdict(self)}

    @classmethod
    def from_dict(cls, data: JsonLike) -> Verified:
        """The inverse of :meth:`to_dict`."""
        return cls(**{key: value for key, value in data.items() if key != "learner"})


def _only_booleans(cells: Door) -> None:
    if not cells.boolean.all():
        first = cells.feature_names[int((~cells.boolean).argmax())]
        raise BadInput(
            f"Verified() learns from Boolean features, 0 or 1; {first} holds other numbers. Learn "
            "through thrifty.Trees(learner=thrifty.Verified()), which makes bits of them."
        )


def _first_look(experience: Experience, task: Looks) -> FeatureBeliefs:
    """Look at a few rows of every feature, and say what is believed before they are counted.

    With base rates known, only the rarest class is looked at: its rates are what they do not tell.
    """
    N = task.cells.n_features
    if experience.tasks:
        task.look(int(task.shares.argmin()))
        rates, rows = experience.base_rates(N)
        return first_belief(task.shares, rates, rows, experience.usefulness(N))
    for c in range(task.n_classes):
        task.look(c)
    seen = task.counts() / np.maximum(task.looked, 1)
    overall = (float((task.shares @ seen).mean()) * 2 * N + 0.5) / (2 * N + 1)
    return first_belief(task.shares, np.full(N, overall), np.full(N, 2.0), experience.usefulness(N))


def _codes_in_use(labels: Labels) -> tuple[Ints, Ints]:
    """Codes without gaps, and the labels' own code of each."""
    back, codes = np.unique(labels.codes, return_inverse=True)
    return codes.astype(np.int64).reshape(-1), back


def _in_all_classes(tree: Tree, back: Ints, n_classes: int) -> Tree:
    """The tree over the labels' own codes, with no rows in classes that do not occur."""
    if len(back) == n_classes:
        return tree
    if isinstance(tree, Leaf):
        counts = np.zeros(n_classes)
        counts[back] = np.asarray(tree.counts)
        return Leaf(int(back[tree.label]), tuple(counts.tolist()))
    return Node(
        tree.split,
        _in_all_classes(tree.false, back, n_classes),
        _in_all_classes(tree.true, back, n_classes),
    )
