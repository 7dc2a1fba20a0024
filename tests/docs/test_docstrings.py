"""Docstrings are numpydoc's: each parameter and attribute has its type in the type's place."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import thrifty
from tests.docs.test_paths import resolves
from tests.test_public_names import BY_MODULE, MEMBERS, TOP
from thrifty.lifetime.task import Task

SOURCES = Path(__file__).resolve().parents[2] / "src" / "thrifty"
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$")

#: what a type is written with, besides the names of classes
WORDS = {
    "and", "array", "as", "bool", "callable", "collection", "default", "dict", "estimator",
    "float", "frame", "frozenset", "int", "iterable", "iterator", "law", "laws", "like", "list",
    "mapping", "matrix", "number", "object", "of", "optional", "or", "path", "scipy", "sequence",
    "set", "sparse", "str", "there", "timedelta", "tuple", "type", "uint",
}  # fmt: skip

#: results, protocols, tools of tests, and what asks for nothing that could be wrong
RAISE_NOTHING = {
    "Answers", "Certificate", "JointPrediction", "Learned", "Prediction", "PredictionFiles",
    "Quote", "Receipt", "Reply", "StoppingRule", "Family", "Learner", "Gain", "Doubling",
    "Expansion", "FakeProvider", "StoreConformance", "close", "balance", "bill", "refit",
    "monitor", "show",
}  # fmt: skip


def described(text: str, wanted: tuple[str, ...]) -> tuple[set[str], list[str]]:
    """Names with an entry in these sections, and lines there that are none: readers would take
    them for parameters."""
    lines, title, found, prose = text.split("\n"), "", set(), []
    for line, below in zip(lines, [*lines[1:], ""]):
        if re.fullmatch(r"-{3,}", below.strip()):
            title = line.strip()
        elif title in wanted and line and not line.startswith((" ", "---")):
            entry = ENTRY.match(line)
            found |= {name.lstrip("*") for name in entry[1].split(", ")} if entry else set()
            prose += [] if entry else [line]
    return found, prose


def given(node: ast.AST) -> set[str] | None:
    """The names that a function or a class takes; None: a base class or ``**options`` has more."""
    if isinstance(node, ast.ClassDef):
        own = [one for one in node.body if getattr(one, "name", "") == "__init__"]
        if own:
            return given(own[0])
        fields = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
        return None if node.bases else fields
    of = node.args
    names = [*of.posonlyargs, *of.args, *of.kwonlyargs, *filter(None, [of.vararg, of.kwarg])]
    return {one.arg for one in names}


def sections(text: str) -> Iterator[tuple[str, str, str]]:
    """(names, what stands in the type's place, the line below) of parameters and attributes."""
    lines, title = text.split("\n"), ""
    for i, line in enumerate(lines):
        if re.fullmatch(r"-{3,}", lines[i + 1].strip() if i + 1 < len(lines) else ""):
            title = line.strip()
        found = ENTRY.match(line)
        if found and title in ("Parameters", "Attributes"):
            yield found[1], found[2], lines[i + 1] if i + 1 < len(lines) else ""


def is_a_type(slot: str) -> bool:
    """Classes by their names, and the few words between them; prose is none."""
    said = re.sub(r'"[^"]*"', "", slot)
    return all(word in WORDS or word[0].isupper() for word in re.findall(r"[A-Za-z_]+", said))


def docstrings() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(SOURCES)}:{node.lineno} {node.name}", text


def test_every_parameter_has_its_type_and_a_description() -> None:
    wrong, seen = [], 0
    for where, text in docstrings():
        for names, slot, below in sections(text):
            seen += 1
            if not is_a_type(slot):
                wrong.append(f"{where}: {names} : {slot!r} is no type; describe it on a line below")
            elif not below.startswith("    "):
                wrong.append(f"{where}: {names} has a type and no description below it")
    assert wrong == []
    assert seen > 300


def test_a_parameter_that_is_described_exists_and_prose_stands_elsewhere() -> None:
    wrong, seen = [], 0
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            where = f"{path.relative_to(SOURCES)}:{node.lineno} {node.name}"
            text = ast.get_docstring(node) or ""
            names, prose = described(text, ("Parameters",))
            _, more = described(text, ("Attributes", "Other Parameters"))
            there = given(node)
            seen += len(names)
            if there is not None and names - there:
                wrong.append(f"{where} takes no {sorted(names - there)}")
            wrong += [f"{where}: under Notes or Examples: {line!r}" for line in [*prose, *more]]
    assert not wrong, "\n".join(wrong)
    assert seen > 200


def public() -> Iterator[tuple[str, object]]:
    """Every public name of the design, and what a lifetime and a task can be asked to do."""
    for name in TOP.split():
        if not inspect.ismodule(getattr(thrifty, name)):
            yield f"thrifty.{name}", getattr(thrifty, name)
    for module, names in BY_MODULE.items():
        for name in names.split():
            yield f"thrifty.{module}.{name}", getattr(getattr(thrifty, module), name)
    for held in (thrifty.Lifetime, Task):
        for name in MEMBERS[held.__name__].split():
            if not isinstance(inspect.getattr_static(held, name), property):
                yield f"{held.__name__}.{name}", getattr(held, name)


def section(text: str, title: str) -> list[str]:
    """The lines of a section that are not indented."""
    found = re.search(rf"^{title}\n-{{3,}}\n(.*?)(?=^[^\n]+\n-{{3,}}$|\Z)", text, re.M | re.S)
    return [line for line in found[1].splitlines() if line[:1].strip()] if found else []


def reachable(name: str) -> bool:
    owner, _, last = name.partition(".")
    if owner == "Task":
        return hasattr(Task, last)
    return resolves(f"thrifty.{name.removeprefix('thrifty.')}", "thrifty", "")


@pytest.mark.parametrize(("name", "thing"), public(), ids=lambda it: it if type(it) is str else "")
def test_a_public_name_has_an_example_its_errors_and_what_to_see_also(name, thing) -> None:
    text = inspect.getdoc(thing) or ""
    assert "Examples\n--------\n" in text and ">>> " in text
    seen = [one for line in section(text, "See Also") for one in line.split(" : ")[0].split(", ")]
    assert seen and [one for one in seen if not reachable(one)] == []
    errors = section(text, "Raises")
    assert [error for error in errors if not reachable(error)] == []
    assert all(error.startswith("thrifty.errors.") for error in errors)
    assert errors or name.rpartition(".")[2] in RAISE_NOTHING


def test_phantom_parameters_are_found() -> None:
    text = "One.\n\nParameters\n----------\nspend : int\n    the most\n\nA store keeps it.\n"
    assert described(text, ("Parameters",)) == ({"spend"}, ["A store keeps it."])
    tree = ast.parse("def f(a, *, b=1, **more): ...\nclass C:\n    x: int\nclass D(C): ...")
    assert [given(node) for node in tree.body] == [{"a", "b", "more"}, {"x"}, None]


@pytest.mark.parametrize(
    ("slot", "right"),
    [
        ("int or None, default 6", True),
        ('{"reused", "bought", "scratch"}', True),
        ("array of float or None", True),
        ("the most tests that a list may have", False),
        ('"error" refuses NaN', False),
    ],
)
def test_prose_is_told_from_types(slot: str, right: bool) -> None:
    assert is_a_type(slot) is right
