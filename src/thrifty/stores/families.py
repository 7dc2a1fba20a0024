"""Families by name: what a store holds is a name and parameters, never code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thrifty import models, powers, trees
from thrifty.errors import StoreError

__all__ = ["family_from_dict"]

_HOMES = {
    "Lists": trees,
    "Models": models,
    "Monomials": powers,
    "Polynomials": powers,
    "Trees": trees,
}


def family_from_dict(data: Mapping[str, Any]) -> Any:
    """The inverse of ``family.to_dict()``.

    >>> family_from_dict(trees.Trees(max_depth=3).to_dict()).max_depth
    3
    """
    name = data.get("family")
    made = getattr(_HOMES.get(str(name)), str(name), None) if name in _HOMES else None
    if made is None:
        raise StoreError(
            f"the store holds a lifetime of a family that this Thrifty does not know: {name!r}; it "
            f"knows {', '.join(sorted(_HOMES))}. Upgrade Thrifty."
        )
    try:
        if hasattr(made, "from_dict"):
            return made.from_dict(dict(data))
        return made(**{key: value for key, value in data.items() if key != "family"})
    except (TypeError, KeyError) as error:
        raise StoreError(
            f"the parameters of {name} in the store cannot be read: {error}."
        ) from error
