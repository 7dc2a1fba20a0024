"""The file that ``thrifty learn`` and ``thrifty predict`` read: YAML or TOML, checked key by key.

    store: clinic.db
    family: {name: Trees, max_depth: 6}
    source:                          # one of csv, parquet, sql, callable
      csv: patients.csv
      id: patient                    # the column that names each example
    prices: {tsh: 22.78, age: 0}     # or one number, or a mapping with orders, fees, ...
    budget: {total: 250 EUR}
    tasks:
      - {name: diabetes, label: diabetes}              # a column of the source
      - {name: stroke, labels: stroke.csv}             # a file: id,label

Paths are relative to the file. ``${NAME}`` in a value is read from the environment, so that no
password has to be in the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thrifty.cells import Budget, PriceList
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.sources.gaps import read_na, with_na
from thrifty.errors import BadInput
from thrifty.on_demand import needed
from thrifty.typing import Fields, Json, JsonLike, MoneyLike
from thrifty.untrusted import readable

_TABLES = {".csv": "csv", ".parquet": "parquet"}

_KEYS = {"store", "lifetime", "family", "source", "prices", "budget", "tasks"}
_TASK_KEYS = {"name", "label", "labels", "spend", "positive"}
_PRICE_KEYS = {
    "per_feature", "orders", "fees", "discounts", "derived", "valid_for", "failed", "currency",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of the file: its name, and where its labels are."""

    name: str
    label: str | None = None
    labels: Path | None = None
    spend: MoneyLike = None
    positive: object = None


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task file, read and checked."""

    folder: Path
    store: str
    lifetime: str
    family: JsonLike
    source: JsonLike
    prices: PricesLike
    budget: Budget | None
    tasks: tuple[TaskSpec, ...]
    #: whether it stands for a table that was named in its place
    is_table: bool = False


def read_any_file(
    path: Path,
    labels: Sequence[str] | None = None,
    *,
    id: str | None = None,
    name: str | None = None,
    features: Sequence[str] | None = None,
    without: Sequence[str] | None = None,
    spend: str | None = None,
    positive: str | None = None,
    budget: str | None = None,
    na: Sequence[str] | None = None,
    censored: str | None = None,
    kinds: Sequence[str] | None = None,
    duplicates: str | None = None,
    gaps_known: bool = False,
    store: str | None = None,
) -> TaskFile:
    """A task file; or a table, of which the options say what a task file would.

    What is typed goes before what a task file says; codes for gaps, kinds and columns to leave out
    come to those that it names.
    """
    if path.suffix in _TABLES:
        file = _of_table(path, labels or ())
    elif labels:
        raise BadInput(
            f"--label is for tables (.csv, .parquet); {path} is a task file: write it under tasks:."
        )
    else:
        file = read_task_file(path)
    source: Fields = dict(file.source)
    said = {"id": id, "name": name, "duplicates": duplicates, "censored": censored}
    source.update({key: value for key, value in said.items() if value})
    if features:
        source["features"] = list(features)
    if gaps_known:
        source["gaps_known"] = True
    if without:
        source["without"] = [*source.get("without", ()), *without]
    if na:
        source["na"] = with_na(read_na(source.get("na")), read_na(na))
    if kinds:
        source["kinds"] = {**(source.get("kinds") or {}), **_kinds(kinds)}
    tasks = tuple(
        replace(
            task,
            spend=task.spend if spend is None else spend,
            positive=task.positive if positive is None else positive,
        )
        for task in file.tasks
    )
    limit = file.budget if budget is None else replace(file.budget or Budget(), total=budget)
    return replace(file, source=source, tasks=tasks, budget=limit, store=store or file.store)


def _of_table(path: Path, labels: Sequence[str]) -> TaskFile:
    """A table, as a task file would name it."""
    return TaskFile(
        folder=path.parent,
        store=str(path.with_suffix(".db")),
        lifetime="lifetime",
        family={"name": "Models"},
        source={_TABLES[path.suffix]: path.name, "allow_missing": True},
        prices=None,
        budget=None,
        tasks=tuple(TaskSpec(label, label) for label in labels),
        is_table=True,
    )


def _kinds(said: Sequence[str]) -> Json:
    """``--kinds tsh=number``, ``--kinds stage=I,II,III``.

    >>> _kinds(["tsh=number", "stage=I,II"])
    {'tsh': 'number', 'stage': ['I', 'II']}
    """
    kinds: Json = {}
    for one in said:
        name, equals, kind = one.rpartition("=")
        if not equals or not name or not kind:
            raise BadInput(
                "--kinds must be NAME=number, NAME=category, NAME=boolean or NAME=A,B,C; got "
                f"{one!r}."
            )
        kinds[name] = kind.split(",") if "," in kind else kind
    return kinds


def read_task_file(path: Path) -> TaskFile:
    """Read and check a task file."""
    with readable(f"the task file {path}", BadInput):
        return _read(path)


def _read(path: Path) -> TaskFile:
    data = _expanded(_parsed(path), path)
    _only(data, _KEYS, f"{path}")
    folder = path.parent
    family = data.get("family", {"name": "Models"})
    if isinstance(family, str):
        family = {"name": family}
    if not isinstance(family, Mapping) or not isinstance(family.get("name", ""), str):
        raise BadInput(
            f"family of {path} must be a name, or a mapping such as {{name: Trees, max_depth: 6}}; "
            f"got {_short(family)}."
        )
    source = data.get("source")
    if not isinstance(source, Mapping):
        raise BadInput(f"{path} must name a source: csv, parquet, sql or callable.")
    for kind in ("csv", "parquet", "sql", "callable"):
        if kind in source:
            _text(source[kind], f"{kind} of the source")
    store = str(data.get("store", path.with_suffix(".db").name))
    if "://" not in store:
        store = str(folder / store)
    return TaskFile(
        folder=folder,
        store=store,
        lifetime=str(data.get("lifetime", "lifetime")),
        family=family,
        source=source,
        prices=_prices(data.get("prices")),
        budget=_budget(data.get("budget"), path),
        tasks=_tasks(data.get("tasks", []), path),
    )


def _parsed(path: Path) -> Any:
    largest_file = 10_000_000
    try:
        if path.is_file() and path.stat().st_size > largest_file:
            raise BadInput(f"{path} is larger than {largest_file:,} bytes: no task file is.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"the file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not a text file ({error}).") from error
    if path.suffix == ".toml":
        import tomllib

        try:
            data: Any = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} is not TOML: {_short(error)}.") from error
    else:
        yaml = needed("yaml", "reading YAML", "config", ", or write the file as TOML.")
        try:
            data = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            # ValueError: a date that is none, a number of five thousand digits
            raise BadInput(f"{path} is not YAML: {error}.") from error
    if not isinstance(data, dict):
        raise BadInput(f"{path} must be a mapping with the keys {', '.join(sorted(_KEYS))}.")
    return data


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) < 200 else f"{text[:200]}..."


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value or "\x00" in value:
        raise BadInput(f"{what} must be text; got {_short(value)}.")
    return value


def _expanded(data: object, path: Path) -> Any:
    """${NAME} from the environment, in every text of the file.

    YAML's aliases let a few lines stand for a thousand million values, or hold themselves: what is
    taken apart is counted.
    """
    left = most_values = 1_000_000

    def expanded(value: object, depth: int) -> object:
        nonlocal left
        left -= 1
        if left < 0 or depth > 50:
            raise BadInput(
                f"{path} holds more than {most_values:,} values, or is nested more than 50 deep."
            )
        if isinstance(value, dict):
            return {key: expanded(v, depth + 1) for key, v in value.items()}
        if isinstance(value, list):
            return [expanded(v, depth + 1) for v in value]
        return _from_environment(value) if isinstance(value, str) else value

    return expanded(data, 0)


def _from_environment(value: str) -> str:

    def look_up(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise BadInput(f"the file asks for ${{{name}}}, which is not in the environment.")
        return os.environ[name]

    return re.sub(r"\$\{(\w+)\}", look_up, value)


def _only(data: JsonLike, known: set[str], where: str) -> None:
    unknown = sorted(set(map(str, data)) - known)
    if unknown:
        raise BadInput(
            f"{where} has a key {unknown[0]!r} that is not known; known are "
            f"{', '.join(sorted(known))}."
        )


def _prices(given: Any) -> Any:
    """A number, names with prices, or the parameters of a price list."""
    if isinstance(given, Mapping) and set(given) & (_PRICE_KEYS - {"derived"}):
        _only(given, _PRICE_KEYS, "prices")
        return PriceList(**given)
    return given


def _budget(given: Any, path: Path) -> Budget | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return Budget(total=given)
    _only(given, {"total", "per_task", "per_example"}, f"the budget of {path}")
    return Budget(**given)


def _tasks(given: Any, path: Path) -> tuple[TaskSpec, ...]:
    if not isinstance(given, list):
        raise BadInput(f"tasks of {path} must be a list of {{name: ..., label: ...}}.")
    tasks = []
    for entry in given:
        if isinstance(entry, str):
            entry = {"name": entry, "label": entry}
        if not isinstance(entry, Mapping) or "name" not in entry:
            raise BadInput(f"each task of {path} needs a name; got {entry!r}.")
        _only(
            entry,
            {"name", "label", "labels", "spend", "positive"},
            f"task {entry['name']!r} of {path}",
        )
        if ("label" in entry) == ("labels" in entry):
            raise BadInput(
                f"task {entry['name']!r} of {path} needs either label (a column of the source) or "
                "labels (a file)."
            )
        labels = None
        if "labels" in entry:
            labels = path.parent / _text(entry["labels"], f"labels of task {entry['name']!r}")
        label = str(entry["label"]) if "label" in entry else None
        said = (entry.get("spend"), entry.get("positive"))
        tasks.append(TaskSpec(str(entry["name"]), label, labels, *said))
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"tasks of {path} must have distinct names; {twice[0]!r} occurs twice.")
    return tuple(tasks)
