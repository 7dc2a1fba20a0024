"""Pages are short and in the field's words: limits on length, and words that may not come back.

Not in pages, and not in what else a user reads: docstrings, messages, helps, templates, examples.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCE = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/**/*.py")])
#: what is shown as it stands: pages of the report, scripts of the examples, notebooks
SHOWN = sorted(
    path
    for kind in ("src/**/*.html", "src/**/*.js", "examples/*.sh", "docs/*.ipynb")
    for path in ROOT.glob(kind)
)

#: what a stranger cannot know, and what to say instead
INSTEAD = {
    r"dear(?:er|est|ly)?": "expensive, the stronger model",
    r"purses?": "budget",
    r"rungs?": "first stage",
    r"stairs?": "cascade",
    r"telling": "informing, or name the feature's effect",
    r"at home": "where it was learned",
    r"lent": "shared",
    r"tamed?": "shrunken",
    r"shel(?:f|ves)": "state",
    r"doors?": "reader",
    r"not to be had": "unavailable",
    r"(?:what|which|that) became true": "observed outcomes",
    r"rows? (?:that were )?left out": "held-out rows",
    r"rows? that chose nothing": "held-out rows",
    r"no features? by (?:itself|themselves)": "not used as features",
    r"chosen on (?:it|them|that set|this set)": "used for tuning",
    r"not looked at before": "held out",
    r"(?:daily|first|few|more|many|several|two|those|the|of) looks": "samples",
    r"(?:one|a|the|this|same|each) walk": "pass",
    r"rooms|(?:every|each|this) room": "modules",
    r"pilots in hindsight": "baselines, chosen with hindsight",
    r"nowhere,? but": "a lead from ... on",
    r"rows that are like it": "kernel model",
    r"cheap one in the places": "cheap answers aligned with the expensive model's rows",
    r"all that is won": "wealth of the bettor",
    r"tells? (?:a little|nothing more|most)": "says what a feature explains",
    r"expected, [\d.]+(?: ?%)? came": "predicted rate, observed rate",
    r"(?:cells?|\d) avoided": "bought n of m values",
}
FORBIDDEN = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b".replace(" ", r"\s+"), re.I)
#: identifiers in code and paths are renamed with the code, not here
CODE = re.compile(r"`[^`\n]+`|\]\([^)]*\)|\"\w+\"")


def written(file: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, messages and comments with their lines; a string of one word is a key."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in joined:  # "{rate:.1%} expected" is read as "0 expected"
        pieces = [part.value if isinstance(part, ast.Constant) else "0" for part in node.values]
        yield node.lineno, "".join(pieces)
    for node in ast.walk(tree):
        said = isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if said and id(node) not in parts:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def found(text: str) -> list[str]:
    """Forbidden words of a text, code left out."""
    return [match[0] for match in FORBIDDEN.finditer(CODE.sub(" ", text))]


def is_research(page: Path) -> bool:
    return page.parent.name == "research"


def test_the_readme_is_one_page():
    assert words(ROOT / "README.md") <= 700


def test_the_documentation_is_what_a_user_needs():
    product = [page for page in PAGES if "docs" in page.parts and not is_research(page)]
    assert len(product) > 20
    assert sum(map(words, product)) <= 22_000


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_page_is_longer_than_one_reads(page):
    assert words(page) <= 2_500


def test_the_glossary_has_25_words_and_needs_no_other_page():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert 15 <= len(rows) <= 25
    assert [row for row in rows if len(row.split()) > 25 or "](" in row] == []


def test_a_change_is_one_line():
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    changes = [line for line in lines if line.startswith("- ")]
    assert len(changes) > 20
    assert [line for line in changes if len(line.split()) > 25] == []
    small = [line for line in changes if not line.startswith("- **")]
    assert [line for line in small if len(line.split()) > 13] == []  # the dash is one of them
    assert [line for line in lines if line.startswith("  ")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_is_in_words_that_a_stranger_reads(page):
    assert found(page.read_text(encoding="utf-8")) == []


def test_docstrings_messages_and_comments_are_in_the_same_words():
    said = [(file, *line) for file in SOURCE for line in written(file)]
    said += [(file, 0, file.read_text(encoding="utf-8")) for file in SHOWN]
    assert len(said) > 3_000
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {word!r}; say: {instead(word)}"
        for file, line, text in said
        for word in found(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_word_is_found_in_a_docstring_a_message_and_a_comment(tmp_path):
    file = tmp_path / "some.py"
    file.write_text(
        'def f(purse):\n    """The shelf of it."""\n    # the dear one\n'
        "    raise ValueError(f'rows {purse} left by the\\npurse', 'dear')\n"
        "g = f'{f:.1%} expected, {f:.1%} came'\n",
        encoding="utf-8",
    )
    assert [(at, *found(text)) for at, text in written(file) if found(text)] == [
        (5, "expected, 0 came"), (4, "purse"), (2, "shelf"), (3, "dear"),
    ]  # fmt: skip


def instead(word: str) -> str:
    plain = " ".join(word.split())
    return next(better for bad, better in INSTEAD.items() if re.fullmatch(bad, plain, re.I))


def test_a_word_is_found_in_prose_and_not_in_code():
    assert found("The dearer one is bought; rows left out judge.") == ["dearer", "rows left out"]
    assert found("`shelf.py` keeps it, see [this](door.md). Indoors, a pursed lip.") == []
    assert instead("purses") == "budget"
