"""The learners that come with Thrifty, by name: what a store holds is a name and parameters."""

from __future__ import annotations

from thrifty.errors import BadParameter
from thrifty.trees.learner import AnyLearner
from thrifty.trees.paper.learner import Paper
from thrifty.trees.paper.over_metafeatures import OverMetafeatures
from thrifty.trees.race.learner import Race
from thrifty.trees.tested import Tested
from thrifty.trees.verified.learner import Verified
from thrifty.typing import JsonLike

__all__ = ["learner_from_dict"]

_BY_NAME: dict[str, type[OverMetafeatures] | type[Verified]] = {
    made.__name__: made for made in (Paper, Race, Tested, Verified)
}


def learner_from_dict(data: JsonLike) -> AnyLearner:
    """The inverse of ``learner.to_dict()``.

    >>> learner_from_dict(Tested(0.05, 0.9).to_dict()).confidence
    0.9
    """
    name = data.get("learner")
    if name not in _BY_NAME:
        raise BadParameter(
            f"learner must be one of {sorted(_BY_NAME)}; got {name!r}. A lifetime with a learner "
            "of your own is opened with Lifetime.open(..., family=...)."
        )
    made: AnyLearner = _BY_NAME[str(name)].from_dict(data)
    return made
