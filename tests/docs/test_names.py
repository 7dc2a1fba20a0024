"""What the pages name exists: parameters in inline code, keys of task files, commands."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import thrifty
from thrifty.cli import app
from thrifty.commands import task_file, task_source

ROOT = Path(__file__).resolve().parents[2]
# What changed between versions names what is gone; what is quoted of other packages is theirs.
HISTORY = {"CHANGELOG.md"}
PAGES = [
    page
    for page in sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
    if page.name not in HISTORY and page.parent.name != "research"
]
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FENCES = re.compile(r"```.*?```", re.S)


def spans(page: Path) -> Iterator[str]:
    yield from _INLINE.findall(_FENCES.sub("", page.read_text(encoding="utf-8")))


def parameters(thing: object) -> set[str]:
    try:
        found = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return set()
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return {p.name for p in found} | set(call_limits())
    return {p.name for p in found}


def call_limits() -> list[str]:
    from thrifty.cells.sources.callable import CallLimits

    return list(inspect.signature(CallLimits).parameters)


def public() -> dict[str, set[str]]:
    """Everything a page may call, by its last name, with its parameters."""
    found: dict[str, set[str]] = {}
    for home in (
        thrifty, thrifty.agnostic, thrifty.bounds, thrifty.estimators, thrifty.results,
        thrifty.streams, thrifty.trees,
    ):  # fmt: skip
        for name in home.__all__:
            thing = getattr(home, name)
            if callable(thing):
                found.setdefault(name, set()).update(parameters(thing))
            if inspect.isclass(thing):
                for method, bound in inspect.getmembers(thing, callable):
                    if not method.startswith("_"):
                        found.setdefault(method, set()).update(parameters(bound))
    return found


PUBLIC = public()
ANY_PARAMETER = set().union(*PUBLIC.values())


def unknown_parameters(code: str) -> list[str]:
    """Parameters that a piece of code gives to a public name which does not have them."""
    try:
        tree = ast.parse(code.strip())
    except SyntaxError:
        return []
    wrong = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in PUBLIC:
            given = {k.arg for k in node.keywords if k.arg}
            wrong += [f"{name}({k}=)" for k in sorted(given - PUBLIC[name])]
    only = tree.body[0] if len(tree.body) == 1 else None
    if isinstance(only, ast.Assign) and isinstance(only.targets[0], ast.Name):
        lone = only.targets[0].id
        if isinstance(only.value, ast.Constant | ast.Call) and re.search(r"\w=[^ =]", code):
            wrong += [] if lone in ANY_PARAMETER else [f"{lone}="]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_parameter_that_a_page_names_exists(page):
    wrong = [f"`{span}`: {bad}" for span in spans(page) for bad in unknown_parameters(span)]
    assert wrong == []


def test_the_finder_finds_what_is_wrong():
    assert unknown_parameters("Source.from_frame(frame, id='x')") == ["from_frame(id=)"]
    assert unknown_parameters('luck="larger"') == ["luck="]
    assert unknown_parameters("Lifetime(store='a.db', budget=thrifty.Budget(total=3))") == []


def test_every_key_of_a_task_file_is_on_its_page():
    page = (ROOT / "docs" / "task_file.md").read_text(encoding="utf-8")
    keys = {*task_file._KEYS, *task_file._PRICE_KEYS, *task_source._COMMON, *task_source._CALL}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_every_command_that_a_page_names_exists():
    import typer.main

    known = set(typer.main.get_command(app).commands)
    for page in PAGES:
        for span in spans(page):
            named = re.match(r"thrifty ([a-z]+)\b", span)
            if named:
                assert named[1] in known, f"{page.name}: {span}"
