"""Prefixes as plain data, of one task or several: made once, kept in the store, loaded again."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import numpy as np

from thrifty.errors import StoreError
from thrifty.models.asking.latent_classes import latent_classes_from_dict
from thrifty.models.asking.own_order import Chooser, OwnOrder, along
from thrifty.models.asking.prefixes import Prefix, Prefixes
from thrifty.models.asking.walk import Ladder
from thrifty.models.fits.calibration import Scaling
from thrifty.models.fits.fitting import fitted_from_dict
from thrifty.models.table import Table
from thrifty.typing import Floats, Json, JsonLike

#: how prefixes are made and kept: what a store has of another version is made again
_FORMAT = "ladder 1"


def fingerprint(
    tables: Sequence[Table],
    weights: Sequence[float],
    signature: object,
    estimators: Sequence[object],
) -> str:
    """A name for prefixes: of these tables, at these prices, with these estimators.

    >>> one = Table(np.arange(1), np.arange(2), np.zeros((2, 1)), np.ones((2, 1), bool),
    ...             np.ones(2), np.arange(2))
    >>> same = [fingerprint([one], [1.0], (price,), [None]) for price in (1.0, 2.0)]
    >>> same[0] == same[1]
    False
    """
    made = hashlib.blake2b(digest_size=16)
    told = []
    for table, estimator in zip(tables, estimators):
        for part in (table.features, table.rows, table.values, table.bought):
            made.update(np.ascontiguousarray(part).tobytes())
        each = [f"{weight:.6g}" for weight in table.weights.tolist()]  # as a store has them
        told.append((each, table.labels.tolist(), repr(estimator)))
    made.update(repr((_FORMAT, told, list(weights), signature)).encode())
    return made.hexdigest()


def ladder_to_dict(ladder: Ladder) -> Json | None:
    """Plain data, for JSON; None for a user's models, and where each task has steps of its own.

    Those are kept with each task.
    """
    tasks = [_task_to_dict(one) for one in ladder.tasks]
    if not ladder.is_joint or any(one is None for one in tasks):
        return None
    return {"features": [list(step) for step in ladder.features], "tasks": tasks}


def ladder_from_dict(data: JsonLike) -> Ladder | None:
    """The inverse of :func:`ladder_to_dict`; None where a model is of an earlier version."""
    steps = tuple(tuple(int(f) for f in step) for step in data["features"])
    tasks = tuple(_task_from_dict(one) for one in data["tasks"])
    for one in tasks:
        there = zip(one.parts, steps)
        if len(one) != len(steps) or any(not set(p.features) <= set(step) for p, step in there):
            raise StoreError("prefixes in the store read features that no step asks for.")
        if any(part.model is None and part.features for part in one.parts):
            return None
    return Ladder(steps, tasks)


def _task_to_dict(made: Prefixes) -> Json | None:
    fixed = made.fixed if isinstance(made, OwnOrder) else made
    parts = [_part_to_dict(part) for part in fixed.parts]
    if any(part.model and told["model"] is None for part, told in zip(fixed.parts, parts)):
        return None
    return {
        "parts": parts,
        "classes": np.asarray(fixed.classes).tolist(),
        "shares": fixed.shares.tolist(),
        "seen": _packed(fixed.seen),
        "codes": fixed.codes.tolist(),
        "weights": fixed.weights.tolist(),
        **({"own": _own_to_dict(made)} if isinstance(made, OwnOrder) else {}),
    }


def _part_to_dict(part: Prefix) -> Json:
    return {
        "features": list(part.features),
        "price": part.price,
        "model": None if part.model is None else part.model.to_dict(),
        "slope": part.scaling.slope,
        "shift": part.scaling.shift.tolist(),
        "most": None if part.scaling.most is None else part.scaling.most.tolist(),
        "price_after": part.price_after,
    }


def _part_from_dict(data: JsonLike) -> Prefix:
    most = None if data["most"] is None else np.array(data["most"], dtype=np.float64)
    return Prefix(
        tuple(int(f) for f in data["features"]),
        float(data["price"]),
        None if data["model"] is None else fitted_from_dict(data["model"]),
        Scaling(float(data["slope"]), np.array(data["shift"], dtype=np.float64), most),
        float(data["price_after"]),
    )


def _task_from_dict(data: JsonLike) -> Prefixes:
    parts = tuple(map(_part_from_dict, data["parts"]))
    codes = np.array(data["codes"], dtype=np.int64)
    shares = np.array(data["shares"], dtype=np.float64)
    seen = _unpacked(data["seen"], (len(parts), len(codes), len(shares)))
    weights = np.array(data["weights"], dtype=np.float64)
    fixed = Prefixes(parts, np.array(data["classes"]), shares, seen, codes, weights)
    own = data.get("own")
    return fixed if own is None else _own_from_dict(own, fixed)


def _own_to_dict(own: OwnOrder) -> Json:
    steps = slice(1, own.steps + 1)
    return {
        "model": own.chooser.model.to_dict(),
        "units": [list(unit) for unit in own.chooser.units],
        "prices": own.chooser.prices.tolist(),
        "first": own.chooser.first,
        "steps": [_part_to_dict(part) for part in own.parts[steps]],
        "seen": _packed(own.seen[steps]),
    }


def _own_from_dict(data: JsonLike, fixed: Prefixes) -> OwnOrder:
    model = latent_classes_from_dict(data["model"])
    units = tuple(tuple(int(i) for i in unit) for unit in data["units"])
    if any(not unit or min(unit) < 0 or max(unit) >= len(model.bins) for unit in units):
        raise StoreError("an order in the store asks for features that it does not have.")
    chooser = Chooser(model, units, np.array(data["prices"], np.float64), int(data["first"]))
    if not 0 <= chooser.first < len(units) or len(chooser.prices) != len(units):
        raise StoreError("an order in the store begins with a question that it does not have.")
    steps = [_part_from_dict(part) for part in data["steps"]]
    seen = _unpacked(data["seen"], (len(steps), len(fixed.codes), len(fixed.shares)))
    return along(chooser, fixed, steps, seen)


def _packed(array: Floats) -> str:
    return base64.b64encode(array.astype("<f4").tobytes()).decode()


def _unpacked(text: str, shape: tuple[int, ...]) -> Floats:
    found = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
    if len(found) != int(np.prod(shape)):
        raise StoreError(f"prefixes in the store are cut short: {len(found)} numbers.")
    p = found.astype(np.float64).reshape(shape)
    return np.asarray(p / np.maximum(p.sum(axis=-1, keepdims=True), 1e-12))
