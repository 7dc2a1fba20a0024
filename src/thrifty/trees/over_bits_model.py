"""A classifier over derived bits, as users hold it: it takes their own columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.cells import Cells, Source, as_source
from thrifty.cells.bit_cells import Bit, BitCells, bits_to_dict, read_bits
from thrifty.cells.features import match_features
from thrifty.lazy import Asked, Explanation
from thrifty.stopping import StoppingRule
from thrifty.trees.model import ShownAsText, TreeClassifier
from thrifty.typing import AnyArray, Json, JsonLike, TableLike


class OverBits(ShownAsText):
    """A classifier over derived bits that takes the columns the bits are made of.

    Made by lifetimes. What it does not do itself (``tree_``, ``plot``, ``to_text`` and so on) is
    that of the classifier over the bits, ``over_bits_``.
    """

    def __init__(
        self, over_bits: TreeClassifier, bits: Sequence[Bit], feature_names: Sequence[str]
    ) -> None:
        self.over_bits_, self.bits_ = over_bits, tuple(bits)
        self.feature_names_ = tuple(feature_names)
        self.classes_ = over_bits.classes_
        self.n_features_in_ = len(self.feature_names_)

    def __getattr__(self, name: str) -> Any:  # what users ask of the classifier over the bits
        if name.startswith("__") or "over_bits_" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.over_bits_, name)

    def __repr__(self) -> str:
        return f"{type(self.over_bits_).__name__}({self.n_features_in_} features, as bits)"

    def __str__(self) -> str:
        return str(self.over_bits_)

    @property
    def features_(self) -> NDArray[np.int64]:
        """Indices of the features that a prediction may ask for."""
        place = {name: f for f, name in enumerate(self.feature_names_)}
        asked = {place[self.bits_[i].feature] for i in self.over_bits_.features_.tolist()}
        return np.array(sorted(asked), dtype=np.int64)

    def ask(
        self,
        cells: Cells,
        rows: NDArray[np.int64],
        *,
        stop: StoppingRule | None = None,
        spend: float | None = None,
        per_row: float | None = None,
    ) -> Asked:
        """Answer rows through a reader, buying only the cells on their paths."""
        bits = BitCells(cells, self.bits_)
        return self.over_bits_.ask(bits, rows, stop=stop, spend=spend, per_row=per_row)

    def explain_asked(self, cells: Cells, example: int) -> Explanation:
        """Path, cells and cost of one example."""
        return self.over_bits_.explain_asked(BitCells(cells, self.bits_), example)

    def _reader(self, X: TableLike) -> Cells:
        source: Source = as_source(X, allow_missing=True, categories=True)
        match = match_features(
            self.feature_names_, source, needed=self.features_.tolist(), whose="the model"
        )
        return Cells(source, match=match)

    def _asked(self, X: TableLike) -> Asked:
        cells = self._reader(X)
        return self.ask(cells, np.arange(cells.n_examples))

    def predict(self, X: TableLike) -> AnyArray:
        """The class of each example."""
        return self._asked(X).values

    def predict_proba(self, X: TableLike) -> NDArray[np.float64]:
        """The share of each class among the training rows of each example's leaf."""
        shares = self._asked(X).probabilities
        assert shares is not None
        return shares

    def explain(self, X: TableLike, example: int) -> Explanation:
        """Path, cells and cost of one example; only its own cells are bought."""
        return self.explain_asked(self._reader(X), example)

    def to_dict(self) -> Json:
        """Plain data, for JSON."""
        return {
            "bits": bits_to_dict(self.bits_),
            "over_bits": self.over_bits_.to_dict(),
            "feature_names": list(self.feature_names_),
        }

    @classmethod
    def from_dict(cls, data: JsonLike, load: Callable[[JsonLike], TreeClassifier]) -> Self:
        """The inverse of :meth:`to_dict`; ``load`` reads the classifier over the bits."""
        return cls(load(data["over_bits"]), read_bits(data["bits"]), data["feature_names"])
