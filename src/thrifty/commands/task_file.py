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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cells import Budget, PriceList
from thrifty.cells.prices.price_list import PricesLike
from thrifty.cells.sources.gaps import read_na, with_na
from thrifty.commands.options import IdColumn
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
    is_table: bool


def read_any_file(
    file: Annotated[
        Path, typer.Argument(help="YAML or TOML (source, prices, tasks), or a CSV or Parquet.")
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Of a table: a column to learn; several are learned at once."),
    ] = None,
    id: IdColumn = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="The name of the source that ids belong to; unless said, that of the id column."
        ),
    ] = None,
    feature: Annotated[
        list[str] | None, typer.Option(help="Only these columns are features.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="This column is no feature; may be given several times."),
    ] = None,
    spend: Annotated[
        str | None,
        typer.Option(
            help='The most that learning may cost: "300 EUR", or "5 %" of everything. Of a table: '
            "all labels together; of a task file: each task, whatever the file says."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help='The most that the lifetime may cost, "5000 EUR"; kept with the store.'),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Of two classes the one of interest; unless said: 1, True, yes or ja, else the "
            "rarer."
        ),
    ] = None,
    na: Annotated[
        list[str] | None,
        typer.Option(help="This stands for a gap, such as 999; several times. It is kept."),
    ] = None,
    censored: Annotated[
        str | None,
        typer.Option(
            help="How <5 is read among numbers: limit (5), half (2.5) or gap. It is kept."
        ),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(help="What a column is, such as tsh=number; several times. It is kept."),
    ] = None,
    duplicates: Annotated[
        str | None, typer.Option(help="An id that comes twice: refuse, first or newest.")
    ] = None,
    gaps_known: Annotated[
        bool, typer.Option("--gaps-known", help="Of a CSV: what is empty is known to be, and free.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(help="Another place for the lifetime than the file says.")
    ] = None,
) -> TaskFile:
    """A task file; or a table, of which the options say what a task file would.

    What is typed goes before what a task file says; codes for gaps, kinds and columns to leave out
    come to those that it names.
    """
    table = _TABLES.get(file.suffix)
    if label and not table:
        raise BadInput(
            f"--label is for tables (.csv, .parquet); {file} is a task file: write it under tasks:."
        )
    with readable(f"the task file {file}", BadInput):
        data = (
            _expanded(_parsed(file), file)
            if table is None
            else {"source": {table: file.name, "allow_missing": True}, "tasks": label or []}
        )
        read = _checked(data, file)
    given: Fields = dict(read.source)
    said: Fields = {"id": id, "name": source, "duplicates": duplicates, "censored": censored}
    said |= {"features": feature, "gaps_known": gaps_known}
    given.update({key: value for key, value in said.items() if value})
    if without:
        given["without"] = [*given.get("without", ()), *without]
    if na:
        given["na"] = with_na(read_na(given.get("na")), read_na(na))
    if kinds:
        given["kinds"] = {**(given.get("kinds") or {}), **_kinds(kinds)}
    tasks = tuple(
        replace(
            task,
            spend=task.spend if spend is None else spend,
            positive=task.positive if positive is None else positive,
        )
        for task in read.tasks
    )
    limit = read.budget if budget is None else replace(read.budget or Budget(), total=budget)
    return replace(read, source=given, tasks=tasks, budget=limit, store=store or read.store)


def reads_file(*leave_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command on a task file or a table: it gets a :class:`TaskFile`, and options of its own.

    The options by which the file is read are those of :func:`read_any_file`, but for some.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        shared = signature(read_any_file, eval_str=True).parameters
        own = signature(command, eval_str=True).parameters
        reading = [p for name, p in shared.items() if name not in leave_out]

        def run(**given: Any) -> None:
            command(read_any_file(**{p.name: given.pop(p.name) for p in reading}), **given)

        parameters = [*reading, *list(own.values())[1:]]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        vars(run)["__signature__"] = Signature(parameters)
        return run

    return with_options


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


def _checked(data: Any, path: Path) -> TaskFile:
    _only(data, _KEYS, f"{path}")
    folder = path.parent
    family = data.get("family", "Models")
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
    return TaskFile(
        folder=folder,
        store=store if "://" in store else str(folder / store),
        lifetime=str(data.get("lifetime", "lifetime")),
        family=family,
        source=source,
        prices=_prices(data.get("prices")),
        budget=_budget(data.get("budget"), path),
        tasks=_tasks(data.get("tasks", []), path),
        is_table=path.suffix in _TABLES,
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
        _only(entry, _TASK_KEYS, f"task {entry['name']!r} of {path}")
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
