"""Families by name: what a store holds is a name and parameters, never code."""

from __future__ import annotations

import json
from typing import Any

from thrifty import models, powers, trees
from thrifty.errors import BadParameter, StoreError
from thrifty.protocol import AnyFamily
from thrifty.typing import Json, JsonLike

__all__ = ["as_written_now", "family_from_dict"]

_HOMES = {
    "Lists": trees,
    "Models": models,
    "Monomials": powers,
    "Polynomials": powers,
    "Trees": trees,
}


def family_from_dict(data: JsonLike) -> AnyFamily:
    """The inverse of ``family.to_dict()``.

    >>> family_from_dict(trees.Trees(max_depth=3).to_dict()).max_depth
    3
    """
    name = data.get("family")
    made: Any = getattr(_HOMES.get(str(name)), str(name), None) if name in _HOMES else None
    if made is None:
        raise StoreError(
            f"the store holds a lifetime of a family that this Thrifty does not know: {name!r}; it "
            f"knows {', '.join(sorted(_HOMES))}. Upgrade Thrifty, or bring a "
            "family of your own: Lifetime.open(..., family=...)."
        )
    try:
        plain = {key: value for key, value in data.items() if key != "family"}
        family: AnyFamily = made.from_dict(data) if hasattr(made, "from_dict") else made(**plain)
        return family
    except (TypeError, KeyError, BadParameter) as error:
        raise StoreError(
            f"the parameters of {name} in the store cannot be read: {error}."
        ) from error


def as_written_now(data: JsonLike) -> Json:
    """A family as this version writes it, whichever wrote it; one that is unknown as it stands."""
    try:
        written: Json = json.loads(json.dumps(family_from_dict(data).to_dict()))
    except StoreError:
        return dict(data)
    return written
