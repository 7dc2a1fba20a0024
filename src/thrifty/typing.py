"""Names for what comes from outside, and for plain data: the few places where a type says little.

What a user brings is read and checked at the reader; behind it every type is known. Where a package
without types is on the other side, its own class is named (``pandas.DataFrame``), and ``Any``
stands only in the modules that ``tests/docs/test_any.py`` lists, each a border.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: plain data, as ``to_dict`` gives it and JSON holds it: made here, read by others
Json: TypeAlias = dict[str, object]
#: the same, only read: what ``from_dict`` takes, and checks
JsonLike: TypeAlias = Mapping[str, Any]
#: a row of a table of results, a line of a log: each field has a type of its own
Fields: TypeAlias = dict[str, Any]
#: Booleans, or numbers of any width; then arrays of one kind
AnyArray: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
#: by which a store knows examples and features
Numbers: TypeAlias = NDArray[np.int32]
#: bits, 64 to a word
Words: TypeAlias = NDArray[np.uint64]


class FrameLike(Protocol):
    """A frame of pandas or Polars: columns with names and a type each."""

    @property
    def columns(self) -> Any: ...
    @property
    def dtypes(self) -> Any: ...


class SparseLike(Protocol):
    """A matrix or array of scipy.sparse."""

    @property
    def shape(self) -> Any: ...
    def tocsr(self) -> Any: ...


class SourceLike(Protocol):
    """What :class:`thrifty.Source` is to those that only pass it on."""

    @property
    def feature_names(self) -> tuple[str, ...]: ...
    def read(self, rows: NDArray[np.int64], features: NDArray[np.int64]) -> AnyArray: ...


class EstimatorLike(Protocol):
    """An estimator of scikit-learn, or one that behaves as those do."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def fit(self, X: Any, y: Any) -> Any: ...


#: an array, a frame, scipy sparse, or a :class:`thrifty.Source`; read by ``as_source``
TableLike: TypeAlias = ArrayLike | Sequence[Sequence[object]] | FrameLike | SparseLike | SourceLike
#: labels: a sequence, an array or a series; read by a family's ``read_labels``
LabelsLike: TypeAlias = ArrayLike | Sequence[object]
#: a price for all, one each in order, or a mapping by feature; ``PricesLike`` is
#: this or a :class:`thrifty.PriceList`
PerFeatureLike: TypeAlias = ArrayLike | Mapping[str, Any] | None
#: an amount: a number in the unit of the prices, or text such as "300 EUR" or "5 %"
MoneyLike: TypeAlias = SupportsFloat | str | None
#: what features are, by name: "number", "category", "boolean" or a list of categories
KindsLike: TypeAlias = Mapping[str, str | Sequence[str]] | None
#: codes that stand for a gap: ["-", 999], or by feature {"weight": [999]}
NaLike: TypeAlias = Sequence[object] | Mapping[str, object] | None
#: how "<5" is read among numbers: as 5, as half of it (">100" as 100), or as a gap
CensoredLike: TypeAlias = Literal["limit", "half", "gap"] | None
#: which cells exist: a Boolean mask, a frame of one, or a function of (ids, names of features)
PresentLike: TypeAlias = ArrayLike | FrameLike | Callable[..., ArrayLike]
