"""``Paper()``: every candidate on every row, accepted when consistent.

Race and Tested are papers that grow a tree from metafeatures (:meth:`Paper.reuse`) and from all
features (:meth:`Paper.scratch`) in a way of their own; the parameters, the first phase and
ImproveRep are the same.

Older metafeatures that fit a task as well as the newer one that was found for it.

Where a rule tries the newest metafeatures first, one that happens to agree with the labels is found
before the one that other tasks will need, which then stays old and expensive to reach. So all that
agree are made new: those whose cells were bought anyway, and some of the older, looked at on a few
rows.

What it may cost. A task that the newest n = 2, 4, 8, ... explain, and fewer do not, has bought n S
cells where n <= 2 x, with x metafeatures newer than its own; the bound is S (1 + 2 x), so that
S (1 + 2 x - n) cells, S at least, may be spent here and the bound stays as it is. A stranger made
new would push others back: what is made new agrees on every row of the task, not on a few.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from thrifty.attempt import Attempt, Expected, Failed, Failure, Found
from thrifty.cells import Cells
from thrifty.checks import a_choice, set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.labels import Labels
from thrifty.trees.gains import Gain, Measure, gain_named
from thrifty.trees.improve_rep import Improvement, improved, improvement_named
from thrifty.trees.representation import Metafeatures
from thrifty.trees.scratch import scratch_tree
from thrifty.trees.tree import Leaf, Node, Tree, allows_missing, internal_nodes
from thrifty.trees.use_rep import MATCH, Grown, use_rep
from thrifty.trees.warm_up import WarmUp, after_warm_task, read_warm_up
from thrifty.typing import Ints, Json, JsonLike

#: rows of a first sample; one that has nothing to do with the labels seldom agrees on them
_ROWS = 8


def agreeing(
    newer: Sequence[Tree],
    older: Sequence[Tree],
    model: Tree,
    cells: Cells,
    labels: Labels,
    seed: int,
) -> tuple[Tree, ...]:
    """Single features that agree with the labels: of the newer ones all whose cells are there.

    >>> from thrifty.trees.tree import stump
    >>> X = np.random.default_rng(0).random((64, 9)) < 0.5
    >>> X[:, 7] = X[:, 2]
    >>> labels = Labels(X[:, 2].astype(np.int64), np.array([False, True]))
    >>> from thrifty.cells import Cells
    >>> twins = agreeing([stump(2), stump(3)], [stump(1), stump(7)], stump(2), Cells(X), labels, 0)
    >>> [tree.split.feature for tree in twins]
    [7]
    """
    if not _is_single(model):
        return ()
    random = np.random.default_rng([seed, zlib.crc32(labels.codes.tobytes())])
    found: list[Tree] = []
    for tree in filter(_is_single, newer):
        rows = cells.owned_rows([tree.split.feature])
        if len(rows) == len(labels) and _agrees(tree, rows, cells, labels):
            found.append(tree)
    roots = [tree.split.feature for tree in reversed(newer) if isinstance(tree, Node)]
    behind = roots.index(model.split.feature) if model.split.feature in roots else 0
    spare = len(labels) * (1 + 2 * behind - len(newer))
    return (*_some_of(older, cells, labels, spare, random), *found)


def _some_of(
    older: Sequence[Tree], cells: Cells, labels: Labels, spare: int, random: np.random.Generator
) -> list[Tree]:
    """Some of the older ones that agree on every row, for ``spare`` cells at most."""
    share = 0.25  # of the task's examples: cells spent on first samples of older ones
    single = list(filter(_is_single, older))
    n = min(len(single), int(share * len(labels)) // _ROWS)
    # What is bought beyond the need must not be what a budget lacks in the end.
    if not n or spare < len(labels) or cells.allowance is not None:
        return []
    if spare < (1 + share) * len(labels):
        n = 1  # two first samples and a whole column would be too much
    some = [single[i] for i in random.choice(len(single), n, replace=False).tolist()]
    rows = _of_every_class(labels, random)
    cells.get(rows[:_ROWS], [tree.split.feature for tree in some])
    spare -= n * _ROWS
    found: list[Tree] = []
    for tree in some:
        looked = _ROWS
        agrees = _agrees(tree, rows[:looked], cells, labels)
        if spare < len(rows) - _ROWS or not agrees:
            continue
        while agrees and looked < len(rows):  # twice as many each time until one disagrees
            looked = min(2 * looked, len(rows))
            agrees = _agrees(tree, rows[:looked], cells, labels)
        spare -= looked - _ROWS
        if agrees:
            found.append(tree)
    return found


def _is_single(tree: Tree) -> TypeGuard[Node]:
    return isinstance(tree, Node) and isinstance(tree.false, Leaf) and isinstance(tree.true, Leaf)


def _of_every_class(labels: Labels, random: np.random.Generator) -> Ints:
    """The rows in random order, the first of different classes: a constant tells nothing."""
    order = random.permutation(len(labels))
    first = np.unique(labels.codes[order], return_index=True)[1]
    rest = np.setdiff1d(np.arange(len(order)), first)
    return np.asarray(order[np.concatenate([first, rest])])


def _agrees(tree: Node, rows: Ints, cells: Cells, labels: Labels) -> bool:
    """Whether each side of the split is of one class."""
    codes = labels.codes[rows]
    true = cells.get(rows, [tree.split.feature])[:, 0] >= tree.split.cut
    return all(len(set(side.tolist())) == 1 for side in (codes[true], codes[~true]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Paper:
    """Algorithms 2 and 3 as they stand: each candidate is bought on every row of its node.

    A tree is accepted when it is consistent with the labels, within ``max_depth``.

    Parameters
    ----------
    gain : str or callable
        "entropy", "gini", "gain-ratio", the price-aware "eg2", "cs-id3" and "idx", or a function
        (counts, totals, prices) -> gains.
    improve : str or callable
        What a failure adds to the representation: "paths" (Algorithm 3), "anchors" (one subtree,
        where every metafeature has a root that occurs nowhere else), "anchored-families" (the
        pieces between anchors; give a ``warm_up`` too), "features" (the naive baseline), or a
        function (known, scratch tree, what UseRep had grown) -> trees.
    match : str
        When a metafeature agrees with a tree over real-valued features: where its features do
        ("feature"), or its thresholds, too ("threshold"); see :mod:`thrifty.trees.use_rep`.
    max_nodes : int or None
        UseRep fails where a tree would need more internal nodes; None: no limit.
    warm_up : WarmUp or int
        So many tasks are first learned from scratch and stored whole.
    missing : str
        "error" refuses NaN; "larger-child" sends rows that lack a value to the larger child.

    Raises
    ------
    thrifty.errors.BadParameter
        a gain, ``improve``, ``match`` or ``missing`` that cannot be

    See Also
    --------
    thrifty.trees.Race : the same trees for fewer cells
    thrifty.bounds.trees : what m tasks cost at most

    Examples
    --------
    >>> import thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=4, learner=Paper(gain="gini")))
    >>> life.learn("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).receipt.cells
    8
    """

    gain: str | Gain | Measure = "entropy"
    improve: str | Improvement = "paths"
    match: str = "feature"
    max_nodes: int | None = None
    warm_up: WarmUp | int = 0
    missing: str = "error"

    def __post_init__(self) -> None:
        gain_named(self.gain)
        improvement_named(self.improve)
        a_choice("match", self.match, MATCH)
        allows_missing(self.missing)
        set_checked(self, warm_up=read_warm_up(self.warm_up))
        if self.max_nodes is not None:
            set_checked(self, max_nodes=whole_number("max_nodes", self.max_nodes))

    def reuse(
        self, known: Metafeatures, cells: Cells, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """Algorithm 2."""
        gain, nodes, match = gain_named(self.gain), self.max_nodes, self.match
        return use_rep(
            known, cells, labels, gain, max_depth=max_depth, max_nodes=nodes, match=match
        )

    def scratch(self, cells: Cells, labels: Labels, max_depth: int) -> Tree:
        """Every cell, and the top-down tree on them."""
        return scratch_tree(cells, labels, gain_named(self.gain), max_depth=max_depth)

    def remembers(self, cells: Cells) -> NDArray[np.uint64] | None:
        """Which examples taught a tree, for learners whose promise depends on that."""
        return None

    # The verbs.

    def start(self) -> Metafeatures:
        """No metafeatures."""
        return Metafeatures()

    def expected_cells(self, known: Metafeatures, cells: Cells, max_depth: int) -> Expected:
        """Every root of a metafeature on every example, then the paths; Lemma 2 as the limit."""
        trees = [tree for tree in known if isinstance(tree, Node)]
        if not trees:
            return Expected(buys_everything=True)
        roots = tuple(sorted({tree.split.feature for tree in trees}))
        likely = len(roots) + path_cells(trees) - 1
        limit = 2 * (len(known) + max_depth) if cells.boolean.all() else None
        return Expected(likely, roots, limit, buys_everything=True)

    def use_rep(
        self, known: Metafeatures, cells: Cells, labels: Labels, max_depth: int
    ) -> Attempt[Tree]:
        """The first phase learns every task from scratch; then metafeatures are tried."""
        # One class alone is a leaf for no cells, and teaches nothing.
        if known.warmed >= self._warm_tasks or labels.n_classes == 1:
            attempt = self.reuse(known, cells, labels, max_depth)
            if known.portion < 2 or not isinstance(attempt, Found) or attempt.promise:
                return attempt
            # Behind the newest eight and more a target is worth looking for.
            older = known.older if known.portion > 3 else ()
            others = agreeing(known.trees, older, attempt.model, cells, labels, known.seed)
            return replace(attempt, beside=others)
        n = self._warm_tasks
        message = f"task {known.warmed + 1} of {n} that the warm-up learns from scratch"
        return Failed(Failure("warm-up", message, {"of": n}))

    def from_scratch(
        self, cells: Cells, labels: Labels, failed: Failed | None, max_depth: int
    ) -> Found[Tree]:
        """The tree over all features, and what UseRep had grown when it failed."""
        tree = self.scratch(cells, labels, max_depth)
        found = Found("scratch", tree) if failed is None else failed.then(tree)
        return replace(found, seen=self.remembers(cells))

    def improve_rep(self, known: Metafeatures, found: Found[Tree]) -> Metafeatures:
        """The metafeatures with the parts of the tree that ``improve`` picks."""
        rows, grown = found.seen, found.grown
        known = known.with_rows(rows if isinstance(rows, np.ndarray) else None)
        if known.warmed < self._warm_tasks:
            families = self.improve == "anchored-families"
            return after_warm_task(known, found.model, self._warm_tasks, families)
        by_feature = self.match == "feature"
        grown = grown if isinstance(grown, Grown) else None
        return improved(self.improve, known, found.model, grown, by_feature=by_feature)

    @property
    def _warm_tasks(self) -> int:
        return self.warm_up if isinstance(self.warm_up, int) else self.warm_up.n_tasks

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        said = [f"{field.name}={value!r}" for field, value in values if value != field.default]
        return f"{type(self).__name__}({', '.join(said)})"

    # JSON.

    def load_representation(self, data: JsonLike) -> Metafeatures:
        """The inverse of ``representation.to_dict()``."""
        return Metafeatures.from_dict(data)

    def to_dict(self) -> Json:
        """Name and parameters, for JSON."""
        return {
            "learner": type(self).__name__,
            **{field.name: self._plain(field.name) for field in fields(self)},
        }

    def _plain(self, name: str) -> object:
        value = getattr(self, name)
        if isinstance(value, Gain):
            return value.name
        if name in ("gain", "improve") and not isinstance(value, str):
            raise BadParameter(
                f"a learner whose {name} is a function cannot be stored: give the {name} by name "
                "(a gain as a thrifty.trees.Gain), or keep the lifetime in memory."
            )
        return value.to_dict() if isinstance(value, WarmUp) else value

    @classmethod
    def from_dict(cls, data: JsonLike) -> Self:
        """The inverse of :meth:`to_dict`; what learners of 0.2 had besides made no promise."""
        gone = ("learner", "class_weight", "race")
        given = {key: value for key, value in data.items() if key not in gone}
        if given.get("match") == "stored":
            given["match"] = "threshold"
        if isinstance(given.get("warm_up"), dict):
            given["warm_up"] = WarmUp(**given["warm_up"])
        return cls(**given)


def path_cells(trees: Iterable[Tree]) -> float:
    """Cells on an average path of the deepest of these trees, every split being even.

    >>> from thrifty.trees.tree import stump
    >>> path_cells([stump(1)])
    1.0
    """
    return max(sum(0.5 ** len(path) for path, _ in internal_nodes(tree)) for tree in trees)
