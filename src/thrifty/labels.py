"""Labels: classes or numbers, by row; read, put in the order of the examples, gaps found.

With them what is said of rows: how much each weighs, which belong together. Several tasks may stand
side by side on the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.checks import can_be_stored, refuse_masked
from thrifty.cells.sources.kinds import is_date_text
from thrifty.checks import warn_user
from thrifty.errors import BadInput, BadParameter, LooksMisspelt, RowsLeftOut
from thrifty.typing import AnyArray, Bools, Floats, Ints, LabelsLike, TableLike

Said = Literal["classes", "numbers"]

#: whole numbers below it can be subtracted from each other
_FAR = 2**62
#: groups into which numbers are cut for drawing rows and growing trees: fifths; set by hand
_FIFTHS = 5


@dataclass(frozen=True, eq=False)
class Labels:
    """The label of every row: a code, and the class behind each code; or a number.

    Attributes
    ----------
    codes : array of int
        the class of each row, or the fifth that its number falls into; -1 where it has no label
    classes : array
        what each code stands for
    numbers : array of float or None
        the numbers themselves, NaN where a row has none; None for classes
    row_weights : array of float or None
        how many rows each row counts for
    groups : array of int or None
        rows that no fold parts
    positive : int or None
        of two classes the code of the one of interest; None: nobody asked

    Examples
    --------
    >>> labels_of_numbers(np.array([3.0, 1.0, np.nan, 2.0, 9.0, 4.0])).codes.tolist()
    [2, 0, -1, 1, 4, 3]
    """

    codes: Ints
    classes: AnyArray
    numbers: Floats | None = None
    row_weights: Floats | None = None
    groups: Ints | None = None
    positive: int | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def known(self) -> Bools:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def sizes(self) -> Ints:
        """Rows of each class."""
        return np.bincount(self.codes[self.known], minlength=self.n_classes)

    def of_rows(self, rows: Ints) -> Labels:
        """Of some rows."""
        return replace(
            self,
            codes=self.codes[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
            row_weights=None if self.row_weights is None else self.row_weights[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def said_of(self, rows: Ints) -> AnyArray:
        """What a model of these rows is to say."""
        return self.codes[rows] if self.numbers is None else self.numbers[rows]

    def is_told_by(self, rows: Ints) -> bool:
        """Whether these rows hold enough of two classes, so that there is something to tell."""
        least = 2  # rows of a class without which it is not told from others
        return int((self.of_rows(rows).sizes >= least).sum()) >= 2

    def stands_for(self, rows: Ints) -> Floats:
        """How many rows of the task each of these stands for, by its class; 0 without a label."""
        weight = np.append(self.sizes / np.maximum(self.of_rows(rows).sizes, 1), 0.0)
        return np.asarray(weight[self.codes[rows]], dtype=np.float64)  # -1 is the last

    def masks(self) -> NDArray[np.uint64]:
        """The rows of each class, packed: (C, W)."""
        words = np.zeros((self.n_classes, kernels.words_for(len(self))), dtype="<u8")
        bits = words.view(np.uint8)
        for c in range(self.n_classes):
            packed = np.packbits(self.codes == c, bitorder="little")
            bits[c, : len(packed)] = packed
        return words

    def rows_by_class(self) -> tuple[Ints, Ints]:
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


def labels_of_numbers(values: Floats) -> Labels:
    """Of numbers, NaN for none; those of one fifth have one code."""
    values = np.asarray(values, dtype=np.float64)
    codes = np.full(len(values), -1, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(values))
    place = np.empty(len(known), dtype=np.int64)
    place[np.argsort(values[known], kind="stable")] = np.arange(len(known))
    codes[known] = place * _FIFTHS // max(len(known), 1)
    return Labels(codes, np.arange(_FIFTHS), values)


def aligned_labels(X: TableLike, y: Any) -> Any:
    """The labels in the order of the examples, where both say which row is which.

    A pandas series and a pandas frame (or the source made of one) carry an index. Where the two
    differ the labels are put in the frame's order; where they are not of the same rows, that is an
    error: by position they would be the labels of others.

    >>> import pandas
    >>> X = pandas.DataFrame({"a": [1, 0]}, index=["p", "q"])
    >>> aligned_labels(X, pandas.Series([7, 8], index=["q", "p"])).tolist()
    [8, 7]
    """
    mine = y.index if hasattr(y, "index") and hasattr(y, "reindex") else None
    theirs: Any = getattr(X, "index", None)
    if mine is None:
        return y
    if theirs is None:
        return _by_ids(getattr(X, "examples", None), y)
    if callable(theirs) or mine.equals(theirs):
        return y
    if len(mine) == len(theirs) and mine.is_unique and not len(mine.symmetric_difference(theirs)):
        return y.reindex(theirs)
    odd = next((label for label in theirs if label not in mine), None)
    odd = mine[0] if odd is None else odd
    raise BadInput(
        f"X and y have an index each ({len(theirs)} and {len(mine)} rows) and they are not of the "
        f"same rows: {odd!r} is in one of them alone, or comes twice. Bring the labels of these "
        "rows, y.loc[X.index]; or, where row i of y is for row i of X whatever the index says, "
        "y.to_numpy()."
    )


def _by_ids(ids: Sequence[str] | None, y: Any) -> Any:
    """Labels whose index holds the ids of the examples, in the order of the examples."""
    said = [str(label) for label in y.index] if ids is not None and len(ids) == len(y) else None
    if ids is None or said is None or tuple(said) == tuple(ids) or set(said) != set(ids):
        return y
    at = {label: i for i, label in enumerate(said)}
    return y.iloc[[at[i] for i in ids]]


def labels_of_kept(y: Any, kept: tuple[Ints, int] | None) -> Any:
    """Labels of the rows that a source has kept, where they come for all it was made of.

    >>> labels_of_kept([7, 8, 9], (np.array([0, 2]), 3))
    [7, 9]
    """
    if kept is None or len(y) != kept[1]:
        return y
    if hasattr(y, "iloc"):
        return y.iloc[kept[0]]
    return y[kept[0]] if isinstance(y, np.ndarray) else [y[i] for i in kept[0].tolist()]


def known_labels(y: Any, name: str = "") -> tuple[Any, Ints | None]:
    """The labels that are there, and their rows; None: all of them are.

    Nothing (None, NaN, pandas' own gaps, empty text) is no label. Nullable Booleans and integers
    become plain ones.

    >>> known_labels([1, None, 0])[1].tolist()
    [0, 2]
    >>> known_labels(["yes", float("nan"), "no"])[0].tolist()
    ['yes', 'no']
    """
    array = np.ma.getdata(y) if np.ma.isMaskedArray(y) else np.asarray(y)
    if isinstance(y, list | tuple) and array.dtype.kind == "U":
        array = np.asarray(y, dtype=object)  # among texts a NaN would become the text "nan"
    if np.ma.isMaskedArray(y) or array.ndim != 1 or array.dtype.kind not in "OUf":
        return y, None
    listed = array.tolist()
    there = np.array([not _is_empty(v) for v in listed], dtype=np.bool_)
    if array.dtype.kind == "O" and there.any():
        plain = np.asarray([v for v, known in zip(listed, there) if known])
        array = array[there] if plain.dtype.kind not in "biufU" or plain.ndim != 1 else plain
    else:
        array = array[there]
    if there.all():
        nullable = type(getattr(y, "dtype", None)).__name__.endswith("Dtype")
        return (array if nullable else y), None
    if not len(array):
        of = f" of {name!r}" if name else ""
        raise BadInput(
            f"every label{of} is empty: there is nothing to learn. Bring rows with a label."
        )
    return array, np.flatnonzero(there)


def _is_empty(value: object) -> bool:
    if value is None or (isinstance(value, float) and value != value):
        return True
    if isinstance(value, str):
        return not value.strip()
    return type(value).__name__ in ("NAType", "NaTType")


def say_left_out(task: str, rows: Ints, n: int, named: int = 3) -> None:
    """Tell the user which rows have no label."""
    gone = np.setdiff1d(np.arange(n), rows)
    shown = ", ".join(map(str, gone[:named].tolist())) + (", ..." if len(gone) > named else "")
    warn_user(
        f"{len(gone)} of {n} rows of {task!r} have no label and are left out (rows {shown}); "
        "nothing is bought on them.",
        RowsLeftOut,
    )


def columns_of(names: Sequence[str], Y: object) -> list[LabelsLike]:
    """The labels of each task, from a frame, a mapping or a 2-D array.

    >>> [list(y) for y in columns_of(["a", "b"], {"b": [1, 0], "a": [0, 0]})]
    [[0, 0], [1, 0]]
    """
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise BadInput(f"every task needs a name of its own; {twice!r} comes twice.")
    if isinstance(Y, Mapping) or hasattr(Y, "columns"):
        keys = list(Y) if isinstance(Y, Mapping) else list(getattr(Y, "columns"))  # noqa: B009
        there = [str(key) for key in keys]
        odd = sorted(set(there) ^ set(map(str, names)))
        if odd:
            where = "Y alone" if odd[0] in there else "the names alone"
            raise BadInput(
                f"Y must hold a column for each task and no other: {odd[0]!r} is in {where}. Y has "
                f"{there[:6]}, the names are {list(names)[:6]}."
            )
        by_name = cast(Mapping[object, LabelsLike], Y)
        return [by_name[keys[there.index(str(name))]] for name in names]
    array = np.asarray(Y)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise BadInput(
            f"Y must be rows x tasks, a column for each of the {len(names)} names; got shape "
            f"{array.shape}."
        )
    return [array[:, j] for j in range(len(names))]


def read_partly(
    y: LabelsLike, n_rows: int, name: str, read: Callable[[LabelsLike], Labels]
) -> Labels:
    """Read the labels of one task; rows without one, as :func:`known_labels` has them, stay.

    >>> read_partly([1, None, 0], 3, "a", read_classes).codes.tolist()
    [1, -1, 0]
    """
    shape = np.shape(np.asarray(y, dtype=object))
    if shape != (n_rows,):
        raise BadInput(
            f"the labels of {name!r} must be one per row: X has {n_rows} rows, and they have shape "
            f"{shape}."
        )
    values, rows = known_labels(y, name)
    if rows is None:
        return read(values)
    known = np.asarray(values)
    if known.dtype.kind == "f" and bool((known == np.floor(known)).all()):
        known = known.astype(np.int64)  # NaN made numbers of classes
    at = np.full(n_rows, -1, dtype=np.int64)
    at[rows] = np.arange(len(rows))
    found = read(known).of_rows(at)
    numbers = None if found.numbers is None else np.where(at < 0, np.nan, found.numbers)
    return replace(found, codes=np.where(at < 0, -1, found.codes), numbers=numbers)


def read_row_weights(sample_weight: object, n: int) -> Floats | None:
    """How many rows each row counts for; 0 leaves it out.

    >>> read_row_weights([1, 0, 2.5], 3).tolist()
    [1.0, 0.0, 2.5]
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"sample_weight must hold numbers; {error}.") from error
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise BadInput(
            f"sample_weight must hold one number per example, {n}; Sample weights must be 1D array "
            f"or scalar, got shape {weights.shape}."
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise BadInput(
            f"sample_weight must hold numbers, 0 or more; got {weights[i]:g} for example {i} "
            f"({int(bad.sum())} of {n} are bad)."
        )
    if not weights.any():
        raise BadInput("sample_weight must leave at least one example; all weights are zero.")
    return weights


def read_groups(groups: object, n: int) -> Ints | None:
    """Which group each row belongs to, as small integers; None where every row is its own.

    >>> read_groups(["ann", "bob", "ann"], 3).tolist()
    [0, 1, 0]
    """
    if groups is None:
        return None
    listed: AnyArray = np.asarray(groups)
    if listed.shape != (n,):
        raise BadInput(
            f"groups must hold one group per example, {n}; got shape {listed.shape}. Rows of one "
            "group, those of a patient for instance, are held out together."
        )
    if any(g is None or g != g for g in listed.tolist()):
        i = next(i for i, g in enumerate(listed.tolist()) if g is None or g != g)
        raise BadInput(f"groups must say where every row belongs; example {i} has none.")
    try:
        found, codes = np.unique(listed, return_inverse=True)
    except TypeError as error:
        raise BadInput(f"groups must be of one kind that can be ordered; {error}.") from error
    if len(found) == n:
        return None  # one member each: as if nothing was said
    if len(found) < 2:
        raise BadInput("groups holds one group: no rows could be held out to measure a model.")
    return np.asarray(codes.reshape(-1), dtype=np.int64)


def with_rows(
    labels: Labels, rows: Ints | None, weights: Floats | None, groups: Ints | None
) -> tuple[Labels, Ints | None]:
    """Labels of ``rows`` (None: all) with what was said of all rows; returned with their rows.

    Those that weigh 0 are left out; a class of which none is left is none.
    """
    if rows is not None:
        weights = None if weights is None else weights[rows]
        groups = None if groups is None else groups[rows]
    labels = replace(labels, row_weights=weights, groups=groups)
    if weights is None or weights.all():
        return labels, rows
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise BadInput("sample_weight must leave at least one example with a label; all are zero.")
    labels = labels.of_rows(kept)
    if labels.numbers is not None:
        labels = replace(labels, codes=labels_of_numbers(labels.numbers).codes)
    else:
        there, codes = np.unique(labels.codes, return_inverse=True)
        codes = codes.reshape(-1).astype(np.int64)
        labels = replace(labels, codes=codes, classes=labels.classes[there])
    return labels, kept if rows is None else rows[kept]


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
    weights = None if labels.row_weights is None else labels.row_weights[labels.known]
    sizes = np.bincount(labels.codes[labels.known], weights, minlength=2)
    return 0 if sizes[0] < sizes[1] else 1


def with_positive(labels: Any, said: object = None) -> Any:
    """Labels that know their class of interest; numbers have none.

    >>> with_positive(read_classes([0, 1, 1])).positive
    1
    """
    if isinstance(labels, Labels) and labels.numbers is None:
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


def _distinct(array: AnyArray) -> tuple[AnyArray, Ints]:
    """``np.unique`` with the inverse; whole numbers that lie close together need no sorting."""
    if array.dtype.kind in "biu":
        low, high = int(array.min()), int(array.max())
        if -_FAR < low <= high < _FAR and high - low <= len(array):
            above = array.astype(np.int64) - low
            there = np.bincount(above) > 0
            classes = (np.flatnonzero(there) + low).astype(array.dtype)
            return classes, (np.cumsum(there) - 1)[above]
    return np.unique(array, return_inverse=True)


def real_labels(y: LabelsLike) -> np.ndarray:
    """``y`` as finite float64, one per example.

    >>> real_labels([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    refuse_masked(y)
    try:
        labels = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"labels must be numbers, but could not be read as such: {error}") from error
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) == 0:
        raise BadInput(f"labels must be one number per example, but have shape {labels.shape}.")
    if np.isnan(labels).any():
        row = int(np.argmax(np.isnan(labels)))
        raise BadInput(f"labels must be finite, but label {row} is NaN. Leave that example out.")
    if np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise BadInput(
            f"labels must be finite, but label {row} is infinite: it has probably overflowed. "
            "For monomials, give logarithms instead: Monomials(..., log_labels=True)."
        )
    return labels


def log_labels(y: LabelsLike, given_as_logs: bool) -> np.ndarray:
    """Natural logs of the labels of a monomial task."""
    labels = real_labels(y)
    if given_as_logs:
        return labels
    if (labels < 0).any():
        row = int(np.argmax(labels < 0))
        raise BadInput(
            f"a monomial of positive features is positive, but label {row} is {labels[row]}. "
            "Learn with thrifty.Polynomials, which takes labels of either sign."
        )
    tiny = labels < np.finfo(np.float64).tiny
    if tiny.any():
        row = int(np.argmax(tiny))
        raise BadInput(
            f"a monomial of positive features is positive, but label {row} is {labels[row]}: "
            "zero, or underflowed below the smallest normal double. Give logarithms instead: "
            "Monomials(..., log_labels=True)."
        )
    return np.asarray(np.log(labels))


def read_numbers(y: LabelsLike) -> Labels:
    """Labels as finite numbers, two rows at least.

    >>> read_numbers([1, 2.5]).numbers.tolist()
    [1.0, 2.5]
    """
    values = real_labels(y)
    if len(values) < 2:
        raise BadInput(f"a model of numbers needs 2 rows at least; got {len(values)} sample(s).")
    return labels_of_numbers(values)


def check_said(labels: object) -> Said | None:
    """What a user said of the labels."""
    if labels not in (None, "classes", "numbers"):
        raise BadParameter(
            f"labels must be 'classes', 'numbers' or None (look at them); got {labels!r}."
        )
    said: Said | None = labels
    return said


def labels_said_by(estimator: object) -> Said | None:
    """A classifier learns classes, a regressor numbers; None: it does not say."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return None  # none was given, or none that can be used, which is said elsewhere
    from sklearn.base import is_classifier, is_regressor

    if is_regressor(estimator):
        return "numbers"
    return "classes" if is_classifier(estimator) else None


def read_any_labels(y: LabelsLike, said: Said | None) -> Labels:
    """Classes or numbers: what was said, else what the labels show.

    Labels with a fraction are numbers, and so are whole numbers with more than 20 different values
    and fewer than 10 rows of each. Texts, Booleans and other whole numbers are classes.

    >>> [read_any_labels(y, None).numbers is None for y in ([0.5, 1.0], [0, 1])]
    [False, True]
    """
    if said == "numbers":
        return read_numbers(y)
    if said is None:
        array = np.asarray(y)
        if array.dtype.kind in "iuf" and np.isfinite(array).all() and _are_amounts(array):
            return read_numbers(y)
    return read_classes(in_one_spelling(y))


def _are_amounts(array: AnyArray, many: int = 20, rows_each: int = 10) -> bool:
    # both were set by hand, and not measured: what is in doubt is said
    if (array % 1 != 0).any():
        return True
    different = len(np.unique(array))
    doubtful = different > many and different * rows_each > array.size
    if doubtful:
        warn_user(
            f"the labels are {different} different whole numbers on {array.size} rows, and taken "
            "for amounts. Where they name classes, bring them as texts: y.astype(str).",
            UserWarning,
        )
    return doubtful
