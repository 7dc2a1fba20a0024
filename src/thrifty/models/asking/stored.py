"""Prefixes as plain data, of one task or several: made once, kept in the store, loaded again."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import numpy as np

from thrifty.errors import StoreError
from thrifty.models.asking.ladder import Ladder, Prefix, Prefixes
from thrifty.models.asking.latent_classes import latent_classes_from_dict
from thrifty.models.asking.own_order import Chooser, with_chooser
from thrifty.models.fits.calibration import Scaling
from thrifty.models.fits.fitting import fitted_from_dict
from thrifty.models.table import Table
from thrifty.typing import Floats, Json, JsonLike

#: how prefixes are made and kept: what a store has of another version is made again
_FORMAT = "ladder 2"


def fingerprint(tables: Sequence[Table], about: object, estimators: Sequence[object]) -> str:
    """A name for what is made of these tables with these estimators, at these prices for instance.

    >>> one = Table(np.arange(1), np.arange(2), np.zeros((2, 1)), np.ones((2, 1), bool),
    ...             np.ones(2), np.arange(2))
    >>> fingerprint([one], (1.0,), [None]) == fingerprint([one], (2.0,), [None])
    False
    """
    made = hashlib.blake2b(digest_size=16)
    told = []
    for table, estimator in zip(tables, estimators):
        for part in (table.features, table.rows, table.values, table.bought):
            made.update(np.ascontiguousarray(part).tobytes())
        each = [f"{weight:.6g}" for weight in table.weights.tolist()]  # as a store has them
        told.append((each, table.labels.tolist(), repr(estimator)))
    made.update(repr((_FORMAT, told, about)).encode())
    return made.hexdigest()


def ladder_to_dict(ladder: Ladder) -> Json | None:
    """Plain data, for JSON; None for a user's models, and where each task has steps of its own.

    Those are kept with each task.
    """
    if not ladder.is_joint:
        return None
    tasks = [_task_to_dict(task) for task in ladder.tasks]
    parts: list[Json] = [part for one in tasks for part in one["parts"]]  # type: ignore[attr-defined]
    if any(part["model"] is None and part["features"] for part in parts):
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


def _task_to_dict(made: Prefixes) -> Json:
    fixed, chooser = made.fixed, made.chooser
    told: Json = {
        "parts": [_part_to_dict(part) for part in fixed.parts],
        "classes": np.asarray(fixed.classes).tolist(),
        "shares": fixed.shares.tolist(),
        "seen": _packed(fixed.seen),
        "codes": fixed.codes.tolist(),
        "weights": fixed.weights.tolist(),
    }
    if chooser is not None:
        steps = slice(1, chooser.steps + 1)
        told["own"] = {
            "model": chooser.model.to_dict(),
            "units": [list(unit) for unit in chooser.units],
            "prices": chooser.prices.tolist(),
            "first": chooser.first,
            "steps": [_part_to_dict(part) for part in made.parts[steps]],
            "seen": _packed(made.seen[steps]),
        }
    return told


def _task_from_dict(data: JsonLike) -> Prefixes:
    parts = tuple(map(_part_from_dict, data["parts"]))
    classes, shares = np.array(data["classes"], dtype=np.int64), np.array(data["shares"])
    codes = np.array(data["codes"], dtype=np.int64 if len(classes) else np.float64)
    seen = _unpacked(data["seen"], (len(parts), len(codes), len(shares)))
    fixed = Prefixes(parts, classes, shares, seen, codes, np.array(data["weights"]))
    own = data.get("own")
    if own is None:
        return fixed
    model = latent_classes_from_dict(own["model"])
    units = tuple(tuple(map(int, unit)) for unit in own["units"])
    steps, first, prices = (
        [_part_from_dict(one) for one in own["steps"]],
        own["first"],
        own["prices"],
    )
    if any(not unit or min(unit) < 0 or max(unit) >= len(model.bins) for unit in units):
        raise StoreError("an order in the store asks for features that it does not have.")
    if not 0 <= first < len(units) or len(prices) != len(units):
        raise StoreError("an order in the store begins with a question that it does not have.")
    chooser = Chooser(model, units, np.array(prices), first, fixed, len(steps))
    return with_chooser(chooser, steps, _unpacked(own["seen"], (len(steps), *seen.shape[1:])))


def _part_to_dict(part: Prefix) -> Json:
    scaling = part.scaling
    return {
        "features": list(part.features),
        "price": part.price,
        "model": None if part.model is None else part.model.to_dict(),
        "slope": scaling.slope,
        "shift": scaling.shift.tolist(),
        "most": None if scaling.most is None else scaling.most.tolist(),
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


def _packed(array: Floats) -> str:
    return base64.b64encode(array.astype("<f4").tobytes()).decode()


def _unpacked(text: str, shape: tuple[int, ...]) -> Floats:
    found = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
    if len(found) != int(np.prod(shape)):
        raise StoreError(f"prefixes in the store are cut short: {len(found)} numbers.")
    said = found.astype(np.float64).reshape(shape)
    if shape[-1] == 1:
        return said
    return np.asarray(said / np.maximum(said.sum(axis=-1, keepdims=True), 1e-12))
