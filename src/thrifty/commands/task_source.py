"""From a task file to a source and its labels; CSV as it comes.

Commas, semicolons or tabs between columns, points or commas in numbers.
"""

from __future__ import annotations

import difflib
import importlib
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from thrifty.cells import Source
from thrifty.cells.ledger.compacted import read_column as read_cells
from thrifty.cells.sources.gaps import Codes, read_na, with_censored, with_na, without_na
from thrifty.cells.sources.kinds import read_column
from thrifty.cells.sources.parquet import frame_of, opened_parquet
from thrifty.commands.options import in_commands, note
from thrifty.commands.task_file import TaskFile, TaskSpec, _only
from thrifty.errors import BadInput
from thrifty.lifetime.feature_matching import kinds_here
from thrifty.on_demand import needed
from thrifty.typing import AnyArray, Fields, JsonLike
from thrifty.untrusted import readable

if TYPE_CHECKING:
    import pandas

    from thrifty.lifetime.lifetime import Lifetime
    from thrifty.stores.pages import SqlPages

_COMMON = {"id", "name", "features", "without", "kinds", "allow_missing"}
#: of a table that is read as a whole
_WHOLE = {"na", "censored", "duplicates", "gaps_known"}
_CALL = {
    "callable", "examples", "features", "boolean", "kinds", "idempotent", "name", "allow_missing",
    "max_examples", "max_features", "max_cells", "concurrency", "per_second", "timeout", "attempts",
    "on_doubt", "doubt_limit", "on_failure", "tries",
}  # fmt: skip


class OpenedSource:
    """A source with the ids of its examples and, where it is a table, its label columns."""

    def __init__(self, source: Source, ids: Sequence[str], columns: JsonLike) -> None:
        self.source, self.ids, self._columns = source, list(ids), columns

    def labels(self, task: TaskSpec) -> list[object]:
        """The label of each example, in the order of the source."""
        with readable(f"the labels of {task.name!r}", BadInput):
            return self._labels(task)

    def _labels(self, task: TaskSpec) -> list[object]:
        if task.label is not None:
            if task.label not in self._columns:
                known = ", ".join(map(repr, self._columns)) or "none"
                raise BadInput(
                    f"the source has no label column {task.label!r} for task {task.name!r}; "
                    f"columns that are no features: {known}."
                )
            return list(self._columns[task.label])
        assert task.labels is not None
        frame = read_csv(task.labels)
        if len(frame.columns) != 2:
            raise BadInput(
                f"{task.labels} must have two columns, id and label; it has {len(frame.columns)}."
            )
        by_id = dict(zip(map(str, frame.iloc[:, 0]), frame.iloc[:, 1].tolist()))
        if not any(i in by_id for i in self.ids):
            raise BadInput(
                f"{task.labels} has no label for any of the {len(self.ids)} examples; the first is "
                f"{self.ids[0]!r}."
            )
        return [by_id.get(i) for i in self.ids]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a lifetime and a model know of columns: kinds that were told, words of categories.

    ``features``: what its tasks know; none where nothing is learned yet. ``na``: codes for gaps;
    a column without one was left out. ``asks``: whether rows are to be answered, nothing learned.
    """

    kinds: JsonLike = field(default_factory=dict)
    words: JsonLike = field(default_factory=dict)
    na: Codes = field(default_factory=dict)
    features: frozenset[str] = frozenset()
    asks: bool = False

    @classmethod
    def of_life(cls, life: Lifetime, words: JsonLike | None = None) -> Self:
        """What a lifetime knows by now; ``words``: those of the models that are to answer."""
        told, known = life._state.settings, frozenset(life._state.now.features or ())
        return cls(told.kinds or {}, words or {}, told.na or {}, known, words is not None)

    def of(self, frame: pandas.DataFrame, told: JsonLike | None) -> Fields:
        """What the columns of a frame are; what the file says of them comes first.

        A category that is known stays one, however many of its values a few rows show, and where
        its values are written like numbers: a file says nothing of it.
        """
        categories = {
            name: "category"
            for name, words in self.words.items()
            if name in frame.columns and {_word(v) for v in frame[name].tolist()} & set(words)
        }
        return {**categories, **kinds_here(self.kinds, frame), **(told or {})}


def open_source(file: TaskFile, known: Knowledge | None = None) -> OpenedSource:
    """The source that a task file names, read as the lifetime knows its columns."""
    with readable("the source of the task file", BadInput):
        return _open(file, known or Knowledge())


def _open(file: TaskFile, known: Knowledge) -> OpenedSource:
    kinds = [kind for kind in ("csv", "parquet", "sql", "callable") if kind in file.source]
    if len(kinds) != 1:
        raise BadInput(
            f"a source is one of csv, parquet, sql or callable; the file names {kinds or 'none'}."
        )
    labels = [task.label for task in file.tasks if task.label is not None]
    if kinds[0] == "csv":
        return _from_csv(file, labels, known)
    if kinds[0] == "parquet":
        return _from_parquet(file, labels)
    if kinds[0] == "sql":
        return _from_sql(file, labels)
    return _from_callable(file)


def say_other_name(life: Lifetime, source: Source) -> None:
    """Where these ids have values under another source's name, which would be bought once more."""

    def work(pages: SqlPages) -> list[tuple[str, int]]:
        if pages.knows_source("feature", source.name):
            return []
        examples = pages.numbers("example", source.examples or ())
        mine = examples[examples >= 0]
        of = pages.sources_of("feature") if len(mine) else {}
        there = set(source.feature_names)
        owned: dict[str, set[int]] = {}
        for column in pages.columns("feature", [n for n, (_, f) in of.items() if f in there]):
            both = np.intersect1d(mine, read_cells(column).examples)
            owned.setdefault(of[column.number][0], set()).update(both.tolist())
        return [(name, len(some)) for name, some in owned.items() if name and some]

    for name, n in life.ledger.book.read(work) if source.examples else ():
        note(
            f"note: {n:,} of {source.n_examples:,} ids have values as those of {name!r}; in this "
            f"file they are ids of {source.name!r}, for whom all is bought anew. If they are the "
            f"same: --source {shlex.quote(name)}, or name: in a task file."
        )


def _gaps(file: TaskFile) -> bool:
    """Whether gaps are values: as the file says, else where the family reads them."""
    return bool(file.source.get("allow_missing", _is_default(file)))


def _is_default(file: TaskFile) -> bool:
    """Whether the family is the one that reads tables as they come."""
    return str(file.family.get("name", "Models")) == "Models"


def _from_csv(file: TaskFile, labels: list[str], known: Knowledge) -> OpenedSource:
    given = file.source
    _only(given, {"csv"} | _WHOLE | _COMMON, "source")
    frame = _with_ids(read_csv(file.folder / given["csv"]), given, str(given["csv"]))
    ids = _ids(frame, given, str(given["csv"]))
    aside = {*labels, *given.get("without", ()), *([given["id"]] if "id" in given else [])}
    features = given.get("features") or [c for c in frame.columns if c not in aside]
    for column in [*features, *labels]:
        _has_column(frame, column, str(given["csv"]), "label " if column in labels else "")
    told = dict(given.get("kinds") or {})
    as_words = {label for label in labels if told.pop(label, None) == "category"}
    kinds = known.of(frame[list(features)], told)
    na = with_na(known.na, read_na(with_censored(given.get("na"), given.get("censored")))) or None
    left_out: list[str] = []
    if not given.get("features"):
        every, features = features, _usable(file, frame, features, kinds, na or {}, known)
        left_out = [name for name in every if name not in features]
        if file.is_table and "id" not in given:
            _hint_at_ids(frame[[*features, *left_out]])
    table, present = frame[list(features)], None
    if given.get("gaps_known"):  # what is empty in the file costs nothing to know
        whole = Source.from_frame(table, kinds=kinds or None, allow_missing=True, na=na)
        present = ~np.isnan(np.asarray(whole.table(), dtype=np.float64))
    source = Source.from_frame(
        table,
        examples=ids,
        # An id is the same example in whichever file; rows without one belong to their file.
        name=str(given.get("name") or given.get("id") or given["csv"]),
        kinds=kinds or None,
        allow_missing=_gaps(file),
        na=na,
        duplicates=given.get("duplicates", "refuse"),
        present=present,
    )
    if not known.asks:
        _hint_at_letters(source)
    # kept with the store, so that next month's file can be said to have new ones
    source.gaps = {**dict.fromkeys(left_out, ()), **source.gaps}
    rest = {c: frame[c].tolist() for c in frame.columns if c not in features}
    for label in labels:
        rest[label] = _as_labels(frame[label].to_numpy(), label, na or {}, label in as_words)
    return OpenedSource(source, source.examples or (), rest)


def _as_labels(column: AnyArray, name: str, na: Codes, as_words: bool) -> list[object]:
    """A label column: codes for gaps are no labels; numbers are read like those of features."""
    coded = without_na(column, name, na)
    listed: list[object] = coded.tolist()
    if as_words:
        return [None if v != v else _word(v) for v in listed]
    if coded.dtype.kind != "O" or all(v is None or isinstance(v, bool) for v in listed):
        return listed
    try:
        read = read_column(coded, name, na=na)
    except BadInput:  # dates or texts, of which learning says what they are
        return listed
    if read.categories is not None:
        return listed
    return [None if v != v else _plain(v) for v in read.values.tolist()]


def _has_column(frame: pandas.DataFrame, name: str, where: str, what: str = "") -> None:
    if name in frame.columns:
        return
    there = list(map(str, frame.columns))
    low = {column.casefold().strip(): column for column in there}
    near = difflib.get_close_matches(str(name).casefold(), list(low), 1)
    meant = f" Is it {low[near[0]]!r}?" if near else ""
    listed = ", ".join(map(repr, there[:8])) + (", ..." if len(there) > 8 else "")
    raise BadInput(f"{where} has no {what}column {name!r}.{meant} It has {listed}.")


def _word(value: object) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _usable(
    file: TaskFile, frame: pandas.DataFrame, names: list[str], kinds: JsonLike, na: Codes,
    known: Knowledge,
) -> list[str]:  # fmt: skip
    """The columns that can be features; the others are said, with why, where they are new.

    A column that is empty, or the same on every row, is one only where it is known from before,
    where the family says which columns it needs, or as a new one where rows are to be answered.
    """
    whole = len(frame) > 1 and _is_default(file)
    usable: list[str] = []
    same: list[str] = []
    said: list[str] = []
    for name in names:
        if name in kinds:
            usable.append(name)
            continue
        new = known.asks and name not in known.na
        unknown = whole and not new and name not in known.features
        if unknown and frame[name].nunique(dropna=False) < 2:
            same.append(repr(name))
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # said when it is read for good
                read_column(frame[name].to_numpy(), str(name), na=na)
        except BadInput as error:
            if new or not known.asks:
                said.append(f"left out: {in_commands(str(error))}")
        else:
            usable.append(name)
    if same and not known.asks:
        said.append(f"left out, empty or the same on every row: {', '.join(same)}")
    for line in said if file.tasks or known.asks else ():
        note(line)
    return usable


def _hint_at_ids(frame: pandas.DataFrame) -> None:
    """A number that is one more than in the row before, or a word of its own, names the rows."""
    for name, column in frame.items():
        values = column.dropna().to_numpy()
        if len(values) < 2 or values.dtype.kind not in "iuO":
            continue
        words = values.dtype.kind == "O" and not any(" " in str(v) for v in values.tolist())
        own = words and len(values) > 50 and len(set(values.tolist())) > 0.9 * len(frame)
        if own or (values.dtype.kind != "O" and (np.diff(values) == 1).all()):
            what = "has another word in nearly each row" if own else "counts the rows"
            note(f"{name!r} {what}: if it names them, say --id {shlex.quote(str(name))}.")


def _hint_at_letters(source: Source) -> None:
    """One letter and its capital stay two categories, as they may be meant; that is said."""
    for f, words in source.categories.items():
        for word in words:
            if len(word) == 1 and word.islower() and word.upper() in words:
                name = source.feature_names[f]
                note(f"note: {name!r} has {word!r} and {word.upper()!r} as two categories.")


def _with_ids(frame: pandas.DataFrame, given: JsonLike, where: str) -> pandas.DataFrame:
    """The rows that have an id; those without one cannot be known again, and are said."""
    if "id" not in given:
        return frame
    _has_column(frame, given["id"], where)
    without = np.flatnonzero(frame[given["id"]].isna().to_numpy())
    if not len(without):
        return frame
    if len(without) == len(frame):
        raise BadInput(f"the id column {given['id']!r} of {where} is empty.")
    listed = ", ".join(str(i + 1) for i in without[:5].tolist()) + ", ..." * (len(without) > 5)
    note(
        f"note: {len(without):,} of {len(frame):,} rows have no {given['id']!r} and are left out "
        f"(rows {listed} below the header)."
    )
    kept = frame.drop(index=frame.index[without])
    whole = kept[given["id"]]  # numbers with a gap among them were read as 1.0, 2.0
    if whole.dtype.kind == "f" and (whole == whole.round()).all():
        kept[given["id"]] = whole.astype("int64")
    return kept


def _ids(frame: pandas.DataFrame, given: JsonLike, where: str) -> list[object]:
    if "id" not in given:
        return list(range(len(frame)))
    _has_column(frame, given["id"], where)
    return list(frame[given["id"]].tolist())


def _columns(file: TaskFile, aside: Sequence[str]) -> Fields:
    """What the file says of columns that are read one by one."""
    said = {key: file.source.get(key) for key in ("features", "kinds")}
    return {**said, "without": aside, "allow_missing": _gaps(file)}


def _from_parquet(file: TaskFile, labels: list[str]) -> OpenedSource:
    given = file.source
    _only(given, {"parquet"} | _COMMON, "source")
    path = file.folder / given["parquet"]
    aside = [*labels, *given.get("without", ()), *([given["id"]] if "id" in given else [])]
    source = Source.from_parquet(path, **_columns(file, aside))
    there = [c for c in dict.fromkeys(aside) if c not in source.feature_names]
    frame = frame_of(opened_parquet(path).read(columns=there)) if there else None
    ids = list(range(source.n_examples)) if frame is None else _ids(frame, given, str(path))
    source.known_as(ids, str(given.get("name") or given["parquet"]))
    rest = {} if frame is None else {c: frame[c].tolist() for c in frame.columns}
    return OpenedSource(source, source.examples or (), rest)


def _from_sql(file: TaskFile, labels: list[str]) -> OpenedSource:
    given = file.source
    _only(given, {"sql", "table", "schema"} | _COMMON, "source")
    for key in ("table", "id"):
        if key not in given:
            raise BadInput(f"a source in a database needs {key}.")
    common: Fields = {"id": given["id"], "schema": given.get("schema"), "name": given.get("name")}
    aside = [*labels, *given.get("without", ())]
    source = Source.from_sql(given["sql"], given["table"], **_columns(file, aside), **common)
    columns: Fields = {}
    if labels:
        # label columns are read like features and never handed to a learner
        beside: Any = Source.from_sql(given["sql"], given["table"], features=labels, **common)
        columns = {c: [_plain(v) for v in v] for c, v in zip(labels, beside.fetch(labels))}
    return OpenedSource(source, source.examples or (), columns)


def _plain(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _from_callable(file: TaskFile) -> OpenedSource:
    given = file.source
    _only(given, _CALL, "source")
    for key in ("examples", "features"):
        if key not in given:
            raise BadInput(f"a source that is called needs {key}: a list, or a file.")
    options = {key: given[key] for key in given if key not in ("callable", "examples", "features")}
    source = Source.from_callable(
        _function(str(given["callable"]), file.folder),
        examples=_listed(given["examples"], file.folder),
        features=[str(f) for f in _listed(given["features"], file.folder)],
        prices=file.prices,
        **{"name": str(given["callable"]), **options},
    )
    return OpenedSource(source, source.examples, {})


def _listed(given: object, folder: Path) -> list[object]:
    """A list, or the first column of a CSV file."""
    if isinstance(given, list):
        return given
    return list(read_csv(folder / str(given)).iloc[:, 0].tolist())


def _function(place: str, folder: Path) -> Callable[..., object]:
    """module:function, looked up beside the file and where Python looks.

    Importing runs the module: a task file with ``callable:`` is a program, not data.
    """
    module, _, name = place.partition(":")
    if not module or not name:
        raise BadInput(f"callable must be module:function; got {place!r}.")
    sys.path.insert(0, str(folder.resolve()))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise BadInput(f"the module {module!r} cannot be imported: {error}.") from error
    except AttributeError as error:
        raise BadInput(f"the module {module!r} has no {name!r}.") from error
    finally:
        sys.path.remove(str(folder.resolve()))
    named: Callable[..., object] = found
    return named


# -- CSV as it comes -----------------------------------------------------------------------------

_BETWEEN = (",", ";", "\t", "|")
#: 3,5 and -12,75, 1.200,5, <0,5; not 1,200.5
_DECIMAL_COMMA = re.compile(r"\s*[<>≤≥]?=?\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?\s*$")
_QUOTED = re.compile(r'"[^"]*"')
_INTEGER = re.compile(r"\s*[<>≤≥]?=?\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)\s*$")


def read_csv(path: Path) -> pandas.DataFrame:
    """A pandas frame of a CSV file, whatever stands between its columns.

    Spreadsheets of half of the world write semicolons between columns and commas in numbers. What
    separates the header into most columns is what separates the others. A comma in a number is
    looked for where commas do not separate columns: there it can mean nothing else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("id;weight;note\\n1;70,5;'a, b'\\n2;81;c\\n")
    ...     read_csv(path)["weight"].tolist()
    [70.5, 81.0]
    """
    pandas = needed("pandas", "reading CSV", "frames")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            between = _separator(file.readline())
        frame = pandas.read_csv(path, sep=between, encoding="utf-8-sig")
    except pandas.errors.EmptyDataError:
        raise BadInput(f"{path} is empty.") from None
    except OSError as error:
        raise BadInput(f"the file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not written in UTF-8 (byte {error.start}). Save it as 'CSV UTF-8'."
        ) from error
    except ValueError as error:
        raise BadInput(f"{path} is not CSV: {error}.") from error
    if not len(frame):
        raise BadInput(f"{path} has a header and no rows.")
    return frame if between == "," else _with_points(frame)


def _separator(header: str) -> str:
    """What separates a header into most columns; commas, where two do equally well."""
    outside = _QUOTED.sub("", header)  # not csv.reader: it reads no column of 131,073 characters
    return max(_BETWEEN, key=outside.count)


def _with_points(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Columns of numbers with commas in them, as numbers; words among them stay words."""
    for name in frame.columns:
        column = frame[name]
        texts = [v for v in column.tolist() if isinstance(v, str)]
        numbers = {v for v in texts if _DECIMAL_COMMA.match(v) or _INTEGER.match(v)}
        most = 2 * sum(v in numbers for v in texts) >= len(texts)
        if not most or not any(map(_DECIMAL_COMMA.match, numbers)):
            continue
        points = {v: v.replace(".", "").replace(",", ".") for v in numbers}
        read = [points.get(v, v) if isinstance(v, str) else v for v in column]
        try:
            frame[name] = list(map(float, read))
        except ValueError:  # a word or a limit, which whoever reads kinds will find
            frame[name] = read
    return frame
