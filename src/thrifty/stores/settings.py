"""What a lifetime was given, as JSON: its family by name, prices, budget, seed, kinds, features.

Features are kept as text of which a million numbered names take a line, not megabytes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from importlib import import_module
from typing import Any, cast

import numpy as np

from thrifty.cells.prices.money import Budget
from thrifty.cells.prices.price_list import PriceList, PricesLike
from thrifty.cells.sources.checks import default_names
from thrifty.errors import BadParameter, MixedCurrencies, StoreError
from thrifty.protocol import AnyFamily
from thrifty.typing import Json, JsonLike

_NOT_STORED = "computed by functions, which a store does not keep"


@dataclass(frozen=True)
class Settings:
    """What was given to a lifetime beside its family and rule; None where nothing was said."""

    prices: PricesLike = None
    budget: Budget | None = None
    random_state: int | None = None
    #: of the order in which learners take rows; None: not drawn yet
    row_seed: int | None = None
    versions: Mapping[str, str] | None = None
    #: what the user said a feature is, where its column does not
    kinds: JsonLike | None = None
    #: codes that stand for a gap, by feature
    na: JsonLike | None = None
    #: features that can no longer be had
    retired: tuple[str, ...] = ()

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "prices": prices_to_json(self.prices),
            "budget": None if self.budget is None else _plain(asdict(self.budget)),
            "random_state": self.random_state,
            "row_seed": self.row_seed,
            "versions": dict(self.versions or {}),
            **({} if self.kinds is None else {"kinds": _plain(self.kinds)}),
            **({} if not self.na else {"na": _plain(self.na)}),
            **({} if not self.retired else {"retired": list(self.retired)}),
        }

    @classmethod
    def from_dict(cls, data: JsonLike) -> Settings:
        """The inverse of :meth:`to_dict`."""
        budget = data.get("budget")
        plain = ("random_state", "row_seed", "versions", "kinds", "na")
        return cls(
            prices=prices_from_json(data.get("prices")),
            budget=None if budget is None else Budget(**budget),
            retired=tuple(data.get("retired", ())),
            **{name: data.get(name) for name in plain},
        )

    def check_currency(self, kept: str) -> None:
        """Refuse a budget or prices in another currency than each other's, or the ledger's."""
        label = str(getattr(self.prices, "currency", ""))
        if kept and label and kept != label:
            raise MixedCurrencies(
                f"this lifetime has bought in {kept} and the prices given are in {label}. Thrifty "
                "does not convert money: convert the prices, or begin another lifetime."
            )
        if self.budget is not None:
            self.budget.limits(kept or label)

    def after(self, given: Settings) -> tuple[Settings, dict[str, tuple[object, object]]]:
        """These settings with what is given now, and what that changes: {name: (before, after)}."""
        changed: dict[str, tuple[object, object]] = {}
        new = self
        before, now = self.to_dict(), given.to_dict()
        for name in ("prices", "budget", "random_state"):
            if getattr(given, name) is None or before[name] == now[name]:
                continue
            new = replace(new, **{name: getattr(given, name)})
            if before[name] is not None:
                changed[name] = (before[name], now[name])
        new = replace(new, row_seed=self._row_seed_after(given))
        if given.kinds:
            had, told = cast(Json, before.get("kinds", {})), cast(Json, now["kinds"])
            new = replace(new, kinds={**had, **told})
            other = {n: k for n, k in told.items() if had.get(n) != k}
            if other:
                changed["kinds"] = ({n: had.get(n) for n in other}, other)
        return new, changed

    def _row_seed_after(self, given: Settings) -> int:
        """The seed that is given on purpose, else the one that is kept, else a new one."""
        if given.random_state is not None:
            return given.random_state
        if self.row_seed is not None:
            return self.row_seed
        if self.random_state is None and given.row_seed is not None:
            return given.row_seed
        return row_seed(self.random_state)


def row_seed(random_state: int | None) -> int:
    """``random_state``, or else a secret: whoever knows the order of rows can lay data out for it.

    Where ``THRIFTY_ROW_SEED`` is set in the environment, that.

    >>> row_seed(5)
    5
    """
    if random_state is not None:
        return random_state
    given = os.environ.get("THRIFTY_ROW_SEED", "")
    return int(given) if given.isdecimal() else 1 + secrets.randbits(62)


def versions() -> dict[str, str]:
    """What a lifetime is being written with.

    >>> sorted(versions())
    ['numpy', 'python', 'scikit-learn', 'thrifty']
    """
    from importlib.metadata import version

    return {
        "thrifty": version("thrifty"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
    }


def prices_to_json(prices: object) -> object:
    """Whatever a user gave as prices, as plain data.

    >>> prices_from_json(prices_to_json(PriceList({"a": 2}, currency="EUR"))).currency
    'EUR'
    """
    if not isinstance(prices, PriceList):
        return _plain(prices)
    given = {f.name: getattr(prices, f.name) for f in fields(PriceList)}
    functions = any(callable(part) for d in prices.derived.values() for part in _parts(d))
    if functions:
        given["derived"] = {}
    out = {"price list": _plain(given)}
    return {**out, "without": _NOT_STORED} if functions else out


def prices_from_json(data: Any) -> Any:
    """The inverse of :func:`prices_to_json`."""
    if not (isinstance(data, Mapping) and "price list" in data):
        return data
    if "without" in data:
        raise BadParameter(
            f"the prices of this lifetime have features {data['without']}: bring them again, "
            "Lifetime.open(store, prices=...)."
        )
    given = dict(data["price list"])
    # 0.2 wrote two names of 0.1 beside the new ones, nearly always empty
    fees, whole = given.pop("panels", {}), given.pop("together", {})
    if whole:
        raise BadParameter(
            f"the prices of this lifetime name {sorted(whole)} under together=, which is gone: "
            "bring them again as orders=, Lifetime.open(store, prices=...)."
        )
    return PriceList(**{**given, "fees": {**fees, **given.get("fees", {})}})


def _parts(given: object) -> Sequence[object]:
    return given if isinstance(given, tuple | list) else (given,)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)  # decimals and such: exact as text


#: the module of each family, which is opened when a lifetime of it is
_HOMES = {
    "Models": "models",
    **dict.fromkeys(("Lists", "Trees"), "trees"),
    **dict.fromkeys(("Monomials", "Polynomials"), "powers"),
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


#: more features than any lifetime has, and longer numbers than any of them: a stranger's store
#: may say what it likes, and is not given the memory for it
_MOST, _WIDEST = 5_000_000, 40

_NUMBERED = re.compile(r"^(.*?)(\d+)$", re.DOTALL)


def names_to_text(names: Sequence[str]) -> str:
    """Names as JSON; those that are a prefix and a running number, in short.

    >>> names_to_text(["x0", "x1", "x2"]), names_to_text(["age", "tsh"])
    ('{"prefix": "x", "first": 0, "count": 3, "width": 0}', '["age", "tsh"]')
    """
    match = _NUMBERED.match(names[0]) if names else None
    if match is not None and 1 < len(names) <= _MOST and len(match.group(2)) <= _WIDEST:
        prefix, digits = match.groups()
        width = len(digits) if len(digits) > 1 else 0
        short = {"prefix": prefix, "first": int(digits), "count": len(names), "width": width}
        for tried in (short, {**short, "width": 0}):
            if tuple(names) == _numbered(**tried):  # type: ignore[arg-type]
                return json.dumps(tried)
    return json.dumps(list(names))


def names_from_text(text: str) -> tuple[str, ...]:
    """The inverse of :func:`names_to_text`.

    >>> names_from_text(names_to_text(["f08", "f09", "f10"]))
    ('f08', 'f09', 'f10')
    """
    data = json.loads(text)
    if isinstance(data, dict):
        numbers = (data.get("first"), data.get("count"), data.get("width"))
        if not all(type(number) is int for number in numbers) or len(str(data["prefix"])) > 1000:
            raise ValueError(f"features {data!r:.80}")
        return _numbered(**data)
    return tuple(map(str, data))


def _numbered(prefix: str, first: int, count: int, width: int) -> tuple[str, ...]:
    if not (0 <= count <= _MOST and 0 <= width <= _WIDEST and 0 <= first < 10**_WIDEST):
        raise ValueError(f"{count} features with numbers of {width} digits")
    if prefix == "x" and first == 0 and width == 0:
        return default_names(count)
    return tuple(f"{prefix}{i:0{width}d}" for i in range(first, first + count))
