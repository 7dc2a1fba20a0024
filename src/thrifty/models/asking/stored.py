"""Prefixes as plain data, of one task or several: made once, kept in the store, loaded again."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import numpy as np

from thrifty.array_types import Floats
from thrifty.errors import StoreError
from thrifty.models.asking.joint import JointPrefixes
from thrifty.models.asking.latent_classes import latent_classes_from_dict
from thrifty.models.asking.own_order import Chooser, OwnOrder, SubsetModel, along
from thrifty.models.asking.prefixes import Prefix, Prefixes
from thrifty.models.fits.calibration import Scaling
from thrifty.models.fits.fitting import fitted_from_dict
from thrifty.models.table import Table
from thrifty.typing import Json, JsonLike

__all__ = [
    "fingerprint",
    "joint_fingerprint",
    "joint_from_dict",
    "joint_to_dict",
    "prefixes_from_dict",
    "prefixes_to_dict",
]


def fingerprint(table: Table, signature: object, estimator: object) -> str:
    """A name for prefixes: of this table, at these prices, with this estimator.

    >>> one = Table(np.arange(1), np.arange(2), np.zeros((2, 1)), np.ones((2, 1), bool),
    ...             np.ones(2), np.arange(2))
    >>> fingerprint(one, (1.0,), None) == fingerprint(one, (2.0,), None)
    False
    """
    made = hashlib.blake2b(digest_size=16)
    for part in (table.features, table.rows, table.values, table.bought):
        made.update(np.ascontiguousarray(part).tobytes())
    weights = [f"{weight:.6g}" for weight in table.weights.tolist()]  # as a store has them
    made.update(repr((weights, table.labels.tolist(), signature, repr(estimator))).encode())
    return made.hexdigest()


def joint_fingerprint(
    tables: Sequence[Table],
    weights: Sequence[float],
    signature: object,
    estimators: Sequence[object],
) -> str:
    """A name for the prefixes of several tasks, each of which counts what its weight says."""
    each = [fingerprint(table, signature, one) for table, one in zip(tables, estimators)]
    told = repr((each, list(weights))).encode()
    return "joint " + hashlib.blake2b(told, digest_size=16).hexdigest()


def prefixes_to_dict(prefixes: Prefixes, own: OwnOrder | None = None) -> Json | None:
    """Plain data, for JSON; None where the models are a user's own, which are fitted again."""
    parts = []
    for part in prefixes.parts:
        model = None if part.model is None else part.model.to_dict()
        if part.model is not None and model is None:
            return None
        parts.append(
            {
                "features": list(part.features),
                "price": part.price,
                "model": model,
                "slope": part.scaling.slope,
                "shift": part.scaling.shift.tolist(),
                "most": None if part.scaling.most is None else part.scaling.most.tolist(),
                "price_after": part.price_after,
            }
        )
    return {
        "parts": parts,
        "classes": np.asarray(prefixes.classes).tolist(),
        "shares": prefixes.shares.tolist(),
        "seen": _packed(prefixes.seen),
        "codes": prefixes.codes.tolist(),
        "weights": prefixes.weights.tolist(),
        **({} if own is None else {"own": _own_to_dict(own)}),
    }


def joint_to_dict(joint: JointPrefixes) -> Json | None:
    """Plain data, for JSON; None for a user's models, and where each task has steps of its own.

    Those are kept with each task.
    """
    tasks = [prefixes_to_dict(one) for one in joint.tasks]
    if not joint.is_joint or any(one is None for one in tasks):
        return None
    return {"features": [list(step) for step in joint.features], "tasks": tasks}


def joint_from_dict(data: JsonLike) -> JointPrefixes:
    """The inverse of :func:`joint_to_dict`."""
    steps = tuple(tuple(int(f) for f in step) for step in data["features"])
    tasks = tuple(prefixes_from_dict(one)[0] for one in data["tasks"])
    for one in tasks:
        there = zip(one.parts, steps)
        if len(one) != len(steps) or any(not set(p.features) <= set(step) for p, step in there):
            raise StoreError("prefixes in the store read features that no step asks for.")
    return JointPrefixes(steps, tasks, True)


def _own_to_dict(own: OwnOrder) -> Json:
    chooser = own.chooser
    return {
        "model": chooser.model.to_dict(),
        "units": [list(unit) for unit in chooser.units],
        "prices": chooser.prices.tolist(),
        "first": chooser.first,
        "exponent": chooser.exponent,
        "beats": chooser.beats,
        "steps": [
            [part.price, part.price_after, part.scaling.slope, part.scaling.shift.tolist()]
            for part in own.parts[1 : own.steps + 1]
        ],
        "most": [
            None if part.scaling.most is None else part.scaling.most.tolist()
            for part in own.parts[1 : own.steps + 1]
        ],
        "seen": _packed(own.seen[1 : own.steps + 1]),
    }


def _own_from_dict(data: JsonLike, fixed: Prefixes) -> OwnOrder:
    model: SubsetModel = latent_classes_from_dict(data["model"])
    units = tuple(tuple(int(i) for i in unit) for unit in data["units"])
    if any(not unit or min(unit) < 0 or max(unit) >= len(model.bins) for unit in units):
        raise StoreError("an order in the store asks for features that it does not have.")
    prices = np.array(data["prices"], dtype=np.float64)
    beats = float(data["beats"])
    chooser = Chooser(model, units, prices, int(data["first"]), float(data["exponent"]), beats)
    most = data.get("most") or [None] * len(data["steps"])
    steps = [
        Prefix((), float(price), None, _scaling(slope, shift, top), float(after))
        for (price, after, slope, shift), top in zip(data["steps"], most, strict=True)
    ]
    if not 0 <= chooser.first < len(units) or len(prices) != len(units):
        raise StoreError("an order in the store begins with a question that it does not have.")
    seen = _unpacked(data["seen"], (len(steps), len(fixed.codes), len(fixed.shares)))
    return along(chooser, fixed, steps, seen)


def prefixes_from_dict(data: JsonLike) -> tuple[Prefixes, OwnOrder | None]:
    """The inverse of :func:`prefixes_to_dict`."""
    parts = tuple(
        Prefix(
            tuple(int(f) for f in part["features"]),
            float(part["price"]),
            None if part["model"] is None else fitted_from_dict(part["model"]),
            _scaling(part["slope"], part["shift"], part.get("most")),
            float(part["price_after"]),
        )
        for part in data["parts"]
    )
    codes = np.array(data["codes"], dtype=np.int64)
    shares = np.array(data["shares"], dtype=np.float64)
    seen = _unpacked(data["seen"], (len(parts), len(codes), len(shares)))
    weights = np.array(data["weights"], dtype=np.float64)
    fixed = Prefixes(parts, np.array(data["classes"]), shares, seen, codes, weights)
    own = data.get("own")
    return fixed, None if own is None else _own_from_dict(own, fixed)


def _scaling(slope: float, shift: Sequence[float], most: Sequence[float] | None) -> Scaling:
    """As it was kept; stores of earlier versions say nothing of the most."""
    top = None if most is None else np.array(most, dtype=np.float64)
    return Scaling(float(slope), np.array(shift, dtype=np.float64), top)


def _packed(array: Floats) -> str:
    return base64.b64encode(array.astype("<f4").tobytes()).decode()


def _unpacked(text: str, shape: tuple[int, ...]) -> Floats:
    found = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
    if len(found) != int(np.prod(shape)):
        raise StoreError(f"prefixes in the store are cut short: {len(found)} numbers.")
    p = found.astype(np.float64).reshape(shape)
    return np.asarray(p / np.maximum(p.sum(axis=-1, keepdims=True), 1e-12))
