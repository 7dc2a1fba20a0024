"""Which files of tests are likely to call a function: those that use its seldom words.

No test is run for it. The words of a function are its own name, its class, and what stands beside
it in its file; those of whoever imports that file count a part. A word that many files of tests
have says little, as in a search (inverse document frequency).
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

__all__ = ["near_tests"]

#: of the function itself, its class and its file; of what is defined beside it; of what is in
#: files that import it
OWN, BESIDE, ABOVE = 4.0, 1.0, 0.3


@cache
def _words_of_tests(root: Path) -> dict[str, frozenset[str]]:
    """The words of each file of tests."""
    return {
        path.relative_to(root).as_posix(): frozenset(
            re.findall(r"[A-Za-z_]\w+", path.read_text(encoding="utf-8"))
        )
        for path in sorted((root / "tests").rglob("test_*.py"))
    }


@cache
def _defined(path: Path) -> frozenset[str]:
    """Functions and classes of a file, and its own name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, kinds)) | {path.stem}


@cache
def _importers(root: Path) -> dict[str, list[Path]]:
    """By dotted name, the files of the package that import from there."""
    found: dict[str, list[Path]] = {}
    for path in sorted((root / "src").rglob("*.py")):
        names = re.findall(r"^\s*from (thrifty[\w.]*) import", path.read_text("utf-8"), re.M)
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(path)
    return found


def near_tests(root: Path, file: str, function: str) -> list[str]:
    """The files of tests that share words with a function of a file, the nearest first."""
    path = root / file
    dotted = ".".join(path.relative_to(root / "src").with_suffix("").parts)
    weights: Counter[str] = Counter()
    for above in _importers(root).get(dotted.removesuffix(".__init__"), []):
        weights.update(dict.fromkeys(_defined(above), ABOVE))
    weights.update(dict.fromkeys(_defined(path), BESIDE))
    weights.update(dict.fromkeys(filter(None, [path.stem, *function.split(".")]), OWN))
    tests = _words_of_tests(root)
    common = Counter(word for words in tests.values() for word in words if word in weights)
    told = {
        word: weight * math.log(len(tests) / common[word])
        for word, weight in weights.items()
        if common[word]
    }
    score = {
        name: sum(told.get(word, 0.0) for word in words) / len(words) ** 0.25
        for name, words in tests.items()
    }
    return sorted((name for name in score if score[name]), key=lambda name: -score[name])
