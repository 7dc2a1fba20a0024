"""A budget over a source that is free to read: counted before each look, in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.ledger.allowance import smallest
from thrifty.cells.ledger.meter import Meter
from thrifty.cells.prices.budget import Limits
from thrifty.cells.prices.money import product, refuse_too_large
from thrifty.cells.prices.price_list import Tariff

__all__ = ["Purse"]


class Purse:
    """What one task may still spend on cells that are counted, not bought from a provider.

    ``used`` is what the lifetime had spent or reserved when the task began.
    """

    def __init__(self, limits: Limits, tariff: Tariff, meter: Meter, used: int = 0) -> None:
        self.limits, self.tariff, self._meter = limits, tariff, meter
        self.used, self.spent = used, 0
        words = kernels.words_for(meter.n_examples)
        self._drawn = np.zeros((len(tariff.draws), words), dtype=np.uint64)
        for d in range(len(tariff.draws)):
            self._drawn[d] = np.bitwise_or.reduce(self._owned(tariff.needing(d)), axis=0)
        self._per_example = np.zeros(meter.n_examples, dtype=np.int64)

    def left(self) -> int | None:
        """What may still be spent, in minor units."""
        limits = self.limits
        return smallest(
            None if limits.total is None else limits.total - self.used - self.spent,
            None if limits.per_task is None else limits.per_task - self.spent,
        )

    def pay(self, features: NDArray[np.int64], mask: NDArray[np.uint64]) -> None:
        """Refuse a look that would cost more than is left; otherwise note its cost."""
        meter, tariff = self._meter, self.tariff
        if meter.everything:
            return
        features = np.unique(features)
        fresh = mask & ~meter.touched[features] & ~self._owned(features)
        n_fresh = np.bitwise_count(fresh).sum(axis=1, dtype=np.int64)
        cost = product(n_fresh, tariff.own[features])
        drawn: dict[int, NDArray[np.uint64]] = {}
        for i, f in enumerate(features.tolist()):
            for d in tariff.needs[f]:
                new = fresh[i] & ~self._drawn[d] & ~drawn.get(d, np.uint64(0))
                drawn[d] = drawn.get(d, np.zeros_like(mask)) | new
                cost += int(np.bitwise_count(new).sum()) * tariff.draws[d].fee
        if not cost:
            return
        refuse_too_large(self.used + self.spent + cost, "the sum of all purchases")
        self.limits.check("total", cost, self.used + self.spent)
        self.limits.check("task", cost, self.spent)
        if self.limits.per_example is not None:
            self._pay_each(features, fresh, drawn)
        self.spent += cost
        for d, new in drawn.items():
            self._drawn[d] |= new

    def _pay_each(
        self, features: NDArray[np.int64], fresh: NDArray[np.uint64],
        drawn: dict[int, NDArray[np.uint64]],
    ) -> None:  # fmt: skip
        each = np.zeros_like(self._per_example)
        for i, f in enumerate(features.tolist()):
            if self.tariff.own[f]:
                each += self.tariff.own[f] * _bits(fresh[i], len(each))
        for d, new in drawn.items():
            each += self.tariff.draws[d].fee * _bits(new, len(each))
        worst = int(np.argmax(np.where(each > 0, self._per_example + each, -1)))
        before = int(self._per_example[worst])
        self.limits.check("example", int(each[worst]), before, f" on example {worst}")
        self._per_example += each

    def _owned(self, features: NDArray[np.int64]) -> NDArray[np.uint64]:
        owned = self._meter.owned
        shape = (len(features), kernels.words_for(self._meter.n_examples))
        if owned.everything:
            return np.full(shape, ~np.uint64(0))
        if not owned.bitmap.shape[0]:
            return np.zeros(shape, dtype=np.uint64)
        return owned.bitmap[features]


def _bits(words: NDArray[np.uint64], n: int) -> NDArray[np.int64]:
    return np.unpackbits(words.view(np.uint8), bitorder="little", count=n).astype(np.int64)
