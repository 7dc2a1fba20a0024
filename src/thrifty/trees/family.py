"""Decision trees as a family: the three verbs of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from thrifty.attempt import Attempt
from thrifty.cells import Cells
from thrifty.errors import BadParameter
from thrifty.trees.accept import (
    Accept,
    Consistent,
    Tested,
    Verified,
    accept_from_dict,
    accept_to_dict,
)
from thrifty.trees.gains.class_weights import (
    check_class_weight,
    class_weight_from_json,
    class_weight_to_json,
    weigh,
)
from thrifty.trees.gains.gain import Gain, gain_named
from thrifty.trees.growing.missing import allows_missing
from thrifty.trees.labels import Labels, read_classes
from thrifty.trees.model import ThriftyTreeClassifier
from thrifty.trees.paper.improve import IMPROVE
from thrifty.trees.paper.use_rep_real import MATCH
from thrifty.trees.paper.warm_up import (
    WarmUp,
    WarmUpWay,
    read_warm_up,
    warm_up_from_dict,
    warm_up_to_dict,
)
from thrifty.trees.paper.way import PaperWay, Way
from thrifty.trees.race.way import RaceWay
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tested import TestedWay
from thrifty.trees.tree import Tree
from thrifty.trees.verified.experience import Experience
from thrifty.trees.verified.way import VerifiedWay

__all__ = ["Trees", "at_least_one", "one_of"]


@dataclass(frozen=True)
class Trees:
    """Decision trees (paper, Section 2).

    Parameters
    ----------
    max_depth : UseRep fails where a tree would grow deeper (edges from the root)
    max_nodes : UseRep fails where a tree would need more internal nodes; None: no limit
    gain : "entropy", "gini", "gain-ratio", the price-aware "eg2", "cs-id3" and "idx", or a function
        (counts, totals, prices) -> gains
    improve : what a failure adds to the representation: "paths" (Algorithm 3), "anchors" (one
        subtree, where every metafeature has a root that occurs nowhere else), "anchored-families"
        (the pieces between anchors; give a ``warm_up`` too) or "features" (the naive baseline)
    compare : "all" buys every candidate on every row of its node (Algorithm 2); "race" drops
        candidates on samples and buys the winner alone on every row: with probability 0.999 the
        same tree, always a consistent one
    accept : when a tree is good enough: ``Consistent()``, the paper's test, ``Tested(error,
        confidence)``, right on enough fresh examples: a bill that does not grow with the examples,
        or ``Verified(epsilon, delta)``, evidence instead of consistency, for noisy data; of the
        other parameters it takes ``max_depth`` alone
    warm_up : ``thrifty.WarmUp(p_min, n_metafeatures, delta)`` or a number of tasks: so many are
        first learned from scratch and stored whole
    match : when a metafeature agrees with a tree over real-valued features: "feature" (thresholds
        are fitted anew), "threshold" or "stored"; see :mod:`thrifty.trees.paper.use_rep_real`
    missing : "error" refuses NaN; "larger-child" sends rows that lack a value to the larger child
    class_weight : None, "balanced", or a mapping class -> weight, for the gains

    Class weights need compare="all" and Consistent().

    Examples
    --------
    >>> Trees(max_depth=3).max_nodes is None
    True
    """

    kind: ClassVar[Literal["classifier"]] = "classifier"

    max_depth: int = 6
    max_nodes: int | None = None
    gain: str | Gain = "entropy"
    improve: str = "paths"
    compare: str = "all"
    accept: Accept = Consistent()  # noqa: RUF009  (a frozen value)
    warm_up: WarmUp | int = 0
    match: str = "feature"
    missing: str = "error"
    class_weight: Any = None

    def __post_init__(self) -> None:
        at_least_one("max_depth", self.max_depth)
        if self.max_nodes is not None:
            at_least_one("max_nodes", self.max_nodes)
        gain_named(self.gain)
        one_of("improve", self.improve, sorted(IMPROVE))
        one_of("compare", self.compare, ["all", "race"])
        read_warm_up(self.warm_up)
        one_of("match", self.match, list(MATCH))
        allows_missing(self.missing)
        check_class_weight(self.class_weight)
        if self.class_weight is not None and not self._takes_all_rows():
            raise BadParameter("class_weight needs compare='all' and accept=thrifty.Consistent().")
        self._way()

    @property
    def allow_missing(self) -> bool:
        """Whether NaN may come in."""
        return allows_missing(self.missing)

    def _takes_all_rows(self) -> bool:
        return self.compare == "all" and isinstance(self.accept, Consistent)

    def _way(self) -> Any:
        """How this family's parameters say a tree is to be learned."""
        if isinstance(self.accept, Verified):
            if self.warm_up:
                raise BadParameter("warm_up is for metafeatures; Verified() has none: leave it 0.")
            return VerifiedWay(self.accept, self.max_depth)
        way = self._reuse_way()
        n = self.warm_up if isinstance(self.warm_up, int) else self.warm_up.n_tasks
        return WarmUpWay(way, n, self.improve == "anchored-families") if n else way

    def _reuse_way(self) -> Way:
        """The way after the first phase, if there is one."""
        way = RaceWay if self.compare == "race" else PaperWay
        exact = way(
            gain_named(self.gain), self.max_depth, self.max_nodes, self.improve, self.match
        )
        if isinstance(self.accept, Tested):
            return TestedWay(exact, self.accept)
        if not isinstance(self.accept, Consistent):
            raise BadParameter(
                "accept must be thrifty.Consistent(), thrifty.Tested() or thrifty.Verified(); got "
                f"{self.accept!r}."
            )
        return exact

    def start(self) -> Metafeatures | Experience:
        return Experience() if isinstance(self.accept, Verified) else Metafeatures()

    def read_labels(self, y: Any) -> Labels:
        return weigh(read_classes(y), self.class_weight)

    def use_rep(self, representation: Any, cells: Cells, labels: Labels) -> Attempt:
        attempt: Attempt = self._way().use_rep(representation, cells, labels)
        return attempt

    def from_scratch(self, cells: Cells, labels: Labels, attempt: Attempt | None) -> Attempt:
        learned: Attempt = self._way().from_scratch(cells, labels, attempt)
        return learned

    def improve_rep(self, representation: Any, attempt: Attempt) -> Any:
        return self._way().improve_rep(representation, attempt)

    def estimator(
        self, model: Tree, labels: Labels, feature_names: Sequence[str]
    ) -> ThriftyTreeClassifier:
        return ThriftyTreeClassifier.around(model, labels, feature_names, missing=self.missing)

    def load_representation(self, data: dict[str, Any]) -> Metafeatures | Experience:
        kind = Experience if isinstance(self.accept, Verified) else Metafeatures
        return kind.from_dict(data)

    def load_estimator(self, data: dict[str, Any]) -> ThriftyTreeClassifier:
        return ThriftyTreeClassifier.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, for JSON."""
        if not isinstance(self.gain, str):
            raise BadParameter(
                "a family whose gain is a function cannot be stored: give the gain by name, or "
                "keep the lifetime in memory."
            )
        return {
            "family": "Trees",
            "max_depth": self.max_depth,
            "max_nodes": self.max_nodes,
            "gain": self.gain,
            "improve": self.improve,
            "compare": self.compare,
            "accept": accept_to_dict(self.accept),
            "warm_up": warm_up_to_dict(self.warm_up),
            "match": self.match,
            "missing": self.missing,
            "class_weight": class_weight_to_json(self.class_weight),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Trees:
        """The inverse of :meth:`to_dict`."""
        parameters = {key: value for key, value in data.items() if key != "family"}
        parameters["accept"] = accept_from_dict(parameters["accept"])
        parameters["warm_up"] = warm_up_from_dict(parameters.get("warm_up", 0))
        parameters["class_weight"] = class_weight_from_json(parameters.get("class_weight"))
        return cls(**parameters)


def at_least_one(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadParameter(f"{name} must be an integer, 1 or more; got {value!r}.")


def one_of(name: str, value: object, choices: list[str]) -> None:
    if value not in choices:
        raise BadParameter(f"{name} must be one of {choices}; got {value!r}.")

