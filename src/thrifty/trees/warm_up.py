"""First few from scratch: a first phase that learns whole trees before it reuses any.

Paper, semi-adversarial model: when every metafeature is on top of a target with probability at
least p_min, the first ceil(ln(K / delta) / p_min) targets show every metafeature at the top of one
of them, with probability 1 - delta. Whole trees are stored; after that UseRep does not fail.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from thrifty.checks import a_probability, a_share, set_checked, whole_number
from thrifty.errors import BadParameter
from thrifty.trees.improve_rep import cut_at
from thrifty.trees.representation import Metafeatures
from thrifty.trees.tree import Node, Tree
from thrifty.typing import Json


@dataclass(frozen=True)
class WarmUp:
    """How many tasks to learn from scratch before anything is reused.

    Parameters
    ----------
    p_min : float
        the least probability with which a metafeature (with anchored families: an anchor) is on top
        of a target, in (0, 1]
    n_metafeatures : int
        how many of them there are: K, or the number of families K2
    delta : float
        the probability with which one of them may be missed, in (0, 1)

    Raises
    ------
    thrifty.errors.BadParameter
        a probability outside its range, or no metafeatures

    See Also
    --------
    thrifty.trees.Paper : ``warm_up=``, who takes it
    thrifty.bounds.warm_up_tasks : the number alone

    Examples
    --------
    >>> WarmUp(p_min=0.1, n_metafeatures=8, delta=0.05).n_tasks
    51
    """

    p_min: float
    n_metafeatures: int
    delta: float = 0.05

    def __post_init__(self) -> None:
        set_checked(
            self,
            p_min=a_probability("p_min", self.p_min),
            n_metafeatures=whole_number("n_metafeatures", self.n_metafeatures),
            delta=a_share("delta", self.delta),
        )

    @property
    def n_tasks(self) -> int:
        """ceil(ln(K / delta) / p_min)."""
        return math.ceil(math.log(self.n_metafeatures / self.delta) / self.p_min)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return asdict(self)


def read_warm_up(warm_up: object) -> WarmUp | int:
    """A WarmUp, or the number of tasks itself."""
    if isinstance(warm_up, WarmUp):
        return warm_up
    try:
        return whole_number("warm_up", warm_up, least=0)
    except BadParameter:
        raise BadParameter(
            "warm_up must be thrifty.trees.WarmUp(p_min=..., n_metafeatures=..., delta=...) or a "
            f"number of tasks, 0 or more; got {warm_up!r}."
        ) from None


def after_warm_task(known: Metafeatures, tree: Tree, n_tasks: int, families: bool) -> Metafeatures:
    """The metafeatures after one more task of the first phase, which is stored whole."""
    after = known.with_trees([tree]).with_warm_task()
    if not families:
        return after
    if isinstance(tree, Node):
        after = after.with_anchors([tree.split.feature])
    if after.warmed < n_tasks:
        return after
    # All anchors are known now: what the first phase stored falls apart into metafeatures.
    pieces = [piece for whole in after.trees for piece in cut_at(whole, after.anchors)]
    return replace(after, trees=()).with_trees(pieces)
