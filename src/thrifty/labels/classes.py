"""Labels as the learners take them: small integers, and the classes they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.checks import can_be_stored, refuse_masked
from thrifty.cells.sources.kinds import is_date_text
from thrifty.checks import warn_user
from thrifty.errors import BadInput, LooksMisspelt
from thrifty.typing import AnyArray, LabelsLike

#: whole numbers below it can be subtracted from each other
_FAR = 2**62


@dataclass(frozen=True, eq=False)
class Labels:
    """One code per example, and the class behind each code.

    ``row_weights``: how many rows each row counts for; ``groups``: rows that no fold parts;
    ``beside``: labels of earlier tasks on the same rows, codes or numbers, -1 or NaN where a row
    has none. ``positive``: of two classes the code of the one of interest; None: nobody asked.
    """

    codes: NDArray[np.int64]
    classes: AnyArray
    row_weights: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    beside: tuple[AnyArray, ...] = ()
    positive: int | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def masks(self) -> NDArray[np.uint64]:
        """The rows of each class, packed: (C, W)."""
        words = np.zeros((self.n_classes, kernels.words_for(len(self))), dtype="<u8")
        bits = words.view(np.uint8)
        for c in range(self.n_classes):
            packed = np.packbits(self.codes == c, bitorder="little")
            bits[c, : len(packed)] = packed
        return words

    def rows_by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All rows, those of one class together in ascending order, and where each class starts."""
        rows = np.argsort(self.codes, kind="stable").astype(np.int64)
        sizes = np.bincount(self.codes, minlength=self.n_classes)
        starts = np.zeros(self.n_classes + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return rows, starts

    def value(self, code: int) -> Any:
        """The class of a code as plain Python, fit for JSON."""
        found = self.classes[code]
        return found.item() if hasattr(found, "item") else found


#: words for the class of interest and for the other one, whatever their case
_POSITIVE = {"1", "1.0", "true", "wahr", "yes", "y", "ja", "j"}
_NEGATIVE = {"0", "0.0", "false", "falsch", "no", "n", "nein"}


def _are_yes_and_no(labels: Iterable[object]) -> bool:
    return all(_plain(label).casefold() in _POSITIVE | _NEGATIVE for label in labels)


def _plain(label: object) -> str:
    return " ".join(str(label).split())


def _meaning(label: object, yes_and_no: bool) -> str | bool:
    """What a label says, however it is spelt; a single letter may differ from its capital."""
    word = _plain(label)
    if yes_and_no and _are_yes_and_no([word]):
        return word.casefold() in _POSITIVE
    return word.casefold() if len(word) > 1 else word


def codes_among(labels: Iterable[Hashable], classes: Sequence[Hashable]) -> list[int]:
    """Which of the classes each label is, in whatever spelling; -1: none of them.

    >>> codes_among(["Ja", "nein ", "?"], ["ja", "nein"]), codes_among(["yes", 0], [False, True])
    ([0, 1, -1], [1, 0])
    """
    binary = _are_yes_and_no(classes)
    exact = {value: code for code, value in enumerate(classes)}
    alike = {_meaning(value, binary): code for code, value in enumerate(classes)}
    if len(alike) < len(classes):  # learned apart
        alike = {}
    return [exact.get(label, alike.get(_meaning(label, binary), -1)) for label in labels]


def in_one_spelling(y: Any) -> Any:
    """Texts that differ by case and blanks alone, or all say yes or no, as one class each; said.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     in_one_spelling(["Ja", "ja ", "Ja", "nein"]).tolist()
    ['Ja', 'Ja', 'Ja', 'nein']
    """
    array = np.asarray(y)
    if array.dtype.kind not in "OU" or array.ndim != 1:
        return y
    listed = array.tolist()
    if not all(isinstance(value, str) for value in listed):
        return y
    spellings = Counter(listed)
    if spellings and all(map(is_date_text, spellings)):
        raise BadInput(
            f"the labels are dates, {listed[0]!r} for one. Make a number of them, such as the days "
            "since an event, or a class, such as 'within a year'."
        )
    binary = _are_yes_and_no(spellings)
    meanings = {spelling: _meaning(spelling, binary) for spelling in spellings}
    alike: dict[str | bool, list[str]] = {}
    for spelling, _ in spellings.most_common():
        alike.setdefault(meanings[spelling], []).append(spelling)
    if not 1 < len(alike) < len(spellings):
        return y
    named = {meant: some[0].strip() if len(some) > 1 else some[0] for meant, some in alike.items()}
    told = "; ".join(
        f"{', '.join(map(repr, some))} as {named[meant]!r}"
        for meant, some in alike.items() if len(some) > 1
    )  # fmt: skip
    warn_user(f"labels are read in one spelling: {told}.", LooksMisspelt)
    return np.array([named[meanings[value]] for value in listed], dtype=object)


def class_of_interest(labels: Labels, said: object = None) -> int | None:
    """Of two classes the code of the one that a task is about; None where there are others.

    What the user said; else 1, True, yes or ja; else the rarer, of two as frequent the second.

    >>> class_of_interest(read_classes(["well", "ill", "well"]))
    0
    >>> class_of_interest(read_classes(["no", "yes", "yes"]))
    1
    >>> class_of_interest(read_classes(["well", "ill", "well"]), "well")
    1
    """
    classes = [labels.value(code) for code in range(labels.n_classes)]
    if said is not None:
        found = codes_among([said], classes)
        if len(classes) != 2 or found[0] < 0:
            raise BadInput(
                f"positive= is one of two classes; got {said!r}, and the labels are "
                f"{', '.join(map(repr, classes[:8]))}."
            )
        return found[0]
    if len(classes) != 2:
        return None
    named = [c for c, value in enumerate(classes) if str(value).strip().casefold() in _POSITIVE]
    if len(named) == 1:
        return named[0]
    sizes = np.bincount(labels.codes, labels.row_weights, minlength=2)
    return 0 if sizes[0] < sizes[1] else 1


def with_positive(labels: Any, said: object = None) -> Any:
    """Labels that know their class of interest; numbers have none.

    >>> with_positive(read_classes([0, 1, 1])).positive
    1
    """
    if isinstance(labels, Labels):
        return replace(labels, positive=class_of_interest(labels, said))
    if said is not None:
        raise BadInput(
            f"positive= is one of two classes; got {said!r}, and the labels are numbers."
        )
    return labels


def read_classes(y: LabelsLike) -> Labels:
    """Check class labels and encode them.

    >>> read_classes(["sick", "well", "sick"]).codes.tolist()
    [0, 1, 0]
    """
    refuse_masked(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise BadInput(
            f"y must be one-dimensional, one label per example; got shape {array.shape}."
        )
    if len(array) == 0:
        raise BadInput("y must hold at least one label; it is empty.")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise BadInput(
                "every label must be known; y contains NaN or infinity. Drop those examples."
            )
        if not (array == np.rint(array)).all():
            raise BadInput(
                "Unknown label type: y holds continuous numbers and a tree predicts classes. Bin "
                "the values, or use thrifty.Monomials or thrifty.Polynomials for numbers."
            )
    if array.dtype == object and any(v is None or v != v for v in array.tolist()):
        at = next(i for i, v in enumerate(array.tolist()) if v is None or v != v)
        raise BadInput(f"every label must be known; y has none for example {at}. Drop such rows.")
    if array.dtype.kind == "S" or (
        array.dtype == object and any(isinstance(v, bytes | bytearray) for v in array.tolist())
    ):
        raise BadInput(
            "labels must be Booleans, integers or texts; got bytes, which no store can hold. "
            "Decode them first: [label.decode() for label in y]."
        )
    if array.dtype.kind in "cMmV":
        raise BadInput(f"labels must be Booleans, integers or texts; got {array.dtype}.")
    try:
        classes, codes = _distinct(array)
    except TypeError as error:
        raise BadInput(f"labels must be of one kind that can be ordered; {error}.") from error
    can_be_stored((str(c) for c in classes if isinstance(c, str)), "label")
    return Labels(codes.astype(np.int64).reshape(-1), classes)


def _distinct(array: AnyArray) -> tuple[AnyArray, NDArray[np.int64]]:
    """``np.unique`` with the inverse; whole numbers that lie close together need no sorting."""
    if array.dtype.kind in "biu":
        low, high = int(array.min()), int(array.max())
        if -_FAR < low <= high < _FAR and high - low <= len(array):
            above = array.astype(np.int64) - low
            there = np.bincount(above) > 0
            classes = (np.flatnonzero(there) + low).astype(array.dtype)
            return classes, (np.cumsum(there) - 1)[above]
    return np.unique(array, return_inverse=True)
