"""Names for what comes from outside, and for plain data: the few places where a type says little.

What a user brings is read and checked at the door; behind it every type is known. An alias says
what may come, where ``Any`` would say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray

__all__ = ["AnyArray", "Json", "JsonLike", "LabelsLike", "PricesLike", "Fields", "TableLike"]

#: plain data, as ``to_dict`` gives it and JSON holds it: made here, read by others
Json: TypeAlias = dict[str, object]
#: the same, only read: what ``from_dict`` takes, and checks
JsonLike: TypeAlias = Mapping[str, Any]
#: a row of a table of results, a line of a log: each field has a type of its own
Fields: TypeAlias = dict[str, Any]
#: Booleans, or numbers of any width
AnyArray: TypeAlias = NDArray[Any]
#: an array, a frame, scipy sparse, or a :class:`thrifty.Source`; read by ``as_source``
TableLike: TypeAlias = Any
#: labels: a sequence, an array or a series; read by a family's ``read_labels``
LabelsLike: TypeAlias = Any
#: None, a number, a sequence, a mapping by feature, or a :class:`thrifty.PriceList`
PricesLike: TypeAlias = Any
