"""Pages are short and in the field's words: limits on length, and words that may not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])

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
    r"no feature by itself": "not used as a feature",
    r"chosen on (?:it|them)": "used for tuning",
    r"(?:daily|first|few|more|many|several) looks": "samples",
    r"tells? (?:a little|nothing more|most)": "says what a feature explains",
    r"expected, [\d.]+ ?% came": "predicted rate, observed rate",
    r"cells? avoided": "bought n of m values",
}
FORBIDDEN = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b".replace(" ", r"\s+"), re.I)
#: identifiers in code and paths are renamed with the code, not here
CODE = re.compile(r"`[^`\n]+`|\]\([^)]*\)|\"\w+\"")


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
    assert [line for line in lines if line.startswith("  ")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_is_in_words_that_a_stranger_reads(page):
    assert found(page.read_text(encoding="utf-8")) == []


def instead(word: str) -> str:
    return next(better for bad, better in INSTEAD.items() if re.fullmatch(bad, word, re.I))


def test_a_word_is_found_in_prose_and_not_in_code():
    assert found("The dearer one is bought; rows left out judge.") == ["dearer", "rows left out"]
    assert found("`shelf.py` keeps it, see [this](door.md). Indoors, a pursed lip.") == []
    assert instead("purses") == "budget"
