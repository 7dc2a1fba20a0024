"""Families by name: what a store holds is a name and parameters, never code."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from thrifty.errors import BadParameter, StoreError
from thrifty.protocol import AnyFamily
from thrifty.typing import Json, JsonLike

__all__ = ["as_written_now", "family_from_dict"]

#: the room of each family, which is opened when a lifetime of it is
_HOMES = {
    "Lists": "trees",
    "Models": "models",
    "Monomials": "powers",
    "Polynomials": "powers",
    "Trees": "trees",
}


def family_from_dict(data: JsonLike) -> AnyFamily:
    """The inverse of ``family.to_dict()``.

    >>> import thrifty
    >>> family_from_dict(thrifty.Trees(max_depth=3).to_dict()).max_depth
    3
    """
    name = data.get("family")
    if name not in _HOMES:
        raise StoreError(
            f"the store holds a lifetime of a family that this Thrifty does not know: {name!r}; it "
            f"knows {', '.join(sorted(_HOMES))}. Upgrade Thrifty, or bring a "
            "family of your own: Lifetime.open(..., family=...)."
        )
    made: Any = getattr(import_module(f"thrifty.{_HOMES[name]}"), name)
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
