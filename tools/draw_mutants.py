"""Draw small changes to the source with cosmic-ray's operators, by a seed, as data.

    python tools/draw_mutants.py            writes tests/mutants/drawn.json
    python tools/draw_mutants.py --redraw   keeps what still applies, draws the others again
    python tools/draw_mutants.py --seed 5 --n 60 --to fresh.json
                                            sixty of a seed that no test was written for; tried with
                                            python tools/mutants.py --drawn fresh.json

A file is drawn first (by its length), then a place in it, then one of the operators that fit
there. What changes nothing that runs (annotations, protocols) is left out. A mutation is
its file, the lines it replaces and the lines it puts there, so it survives moves within a file;
one whose lines have changed since is drawn again from the same seed, after the others.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
from collections import Counter
from functools import cache
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from mutated import Mutation, found_in, with_change

ROOT = Path(__file__).resolve().parents[1]
DRAWN = ROOT / "tests/mutants/drawn.json"
SEED = 20_261_118
#: mutations of each area, 310 in all; stores without PostgreSQL, whose tests start a server
AREAS = {
    "cells": 38, "stores": 18, "trees": 36, "powers": 18, "agnostic.py": 6, "kernels": 14,
    "models": 83, "lazy": 12, "report": 17, "commands": 18,
    "lifetime": 20, "certified": 6, "labels": 4, "service": 8, "streams": 2, "bounds.py": 2,
    "engines.py": 2, "wrapped": 2, "serving.py": 2, "stopping.py": 2,
}  # fmt: skip
LEFT_OUT = ("postgres.py", "__init__.py", "lines.py", "jit.py")
#: those that need no arguments
OPERATORS = sorted(name for name in operator_names() if "Variable" not in name)


def files_of(area: str) -> list[Path]:
    """The modules of an area, in a fixed order."""
    at = ROOT / "src/thrifty" / area
    found = [at] if at.suffix else sorted(at.rglob("*.py"))
    return [path for path in found if path.name not in LEFT_OUT]


def runs(code: str) -> str:
    """What of the code runs: no annotations, no docstrings, nothing that only types are made of.

    >>> runs("T = TypeVar('T', covariant=True)") == runs("T = TypeVar('T', covariant=False)")
    True
    >>> runs("@property\\ndef names(self): ...") == runs("def names(self): ...")
    True
    >>> runs("@property\\ndef names(self): return 1") == runs("def names(self): return 1")
    False
    """
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            if all(_says_nothing(line) for line in node.body):  # nobody calls it
                own = node.decorator_list
                node.decorator_list = [one for one in own if ast.unparse(one) == "abstractmethod"]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "TypeVar":
            node.keywords = []
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
    return ast.dump(tree)


def _says_nothing(line: ast.stmt) -> bool:
    """Of a protocol, or of a method that every class below writes anew."""
    if isinstance(line, ast.Raise):
        return ast.unparse(line) == "raise NotImplementedError"
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


@cache
def places(code: str) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Where the code can be changed: position to (operator, occurrence)."""
    nodes = list(ast_nodes(get_ast(code)))
    found: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in OPERATORS:
        positions = (at for node in nodes for at in get_operator(name)().mutation_positions(node))
        for occurrence, (start, _end) in enumerate(positions):
            found.setdefault(start, []).append((name, occurrence))
    return found


def changed(code: str, name: str, occurrence: int) -> str | None:
    """The code after one change, or None where nothing that runs has changed."""
    mutated = mutate_code(code, get_operator(name)(), occurrence)
    try:
        return mutated if mutated and runs(mutated) != runs(code) else None
    except SyntaxError:
        return None


def as_data(path: Path, code: str, mutated: str, name: str) -> Mutation | None:
    """The lines that differ; a context line more where they stand in the file twice."""
    old, new = code.splitlines(), mutated.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    blocks = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    if len(blocks) != 1:
        return None
    _, a, b, c, d = blocks[0]
    while code.count("\n".join(old[a:b])) > 1 and a > 0:
        a, c = a - 1, c - 1
    return {
        "file": path.relative_to(ROOT).as_posix(),
        "old": "\n".join(old[a:b]),
        "new": "\n".join(new[c:d]),
        "by": name.removeprefix("core/"),
    }


def draw(
    area: str, wanted: int, taken: list[Mutation], salt: str, seed: int = SEED
) -> list[Mutation]:
    """So many mutations of an area, other places than those taken."""
    chance = random.Random(f"{seed}-{area}-{salt}")
    codes = {path: path.read_text(encoding="utf-8") for path in files_of(area)}
    paths, lengths = list(codes), [code.count("\n") for code in codes.values()]
    found: list[Mutation] = []
    seen = {(one["file"], one["old"]) for one in taken}
    while len(found) < wanted:
        path = chance.choices(paths, lengths)[0]
        here = places(codes[path])
        if not here:
            continue
        name, occurrence = chance.choice(here[chance.choice(sorted(here))])
        mutated = changed(codes[path], name, occurrence)
        one = as_data(path, codes[path], mutated, name) if mutated else None
        if one and (one["file"], one["old"]) not in seen:
            seen.add((one["file"], one["old"]))
            found.append(one)
    return found


def fresh(n: int, seed: int) -> dict[str, list[Mutation]]:
    """So many over all areas, each as often as in the list."""
    chance = random.Random(seed)
    wanted = Counter(chance.choices(list(AREAS), list(AREAS.values()), k=n))
    return {area: draw(area, wanted[area], [], "fresh", seed) for area in AREAS if wanted[area]}


def still_runs(one: Mutation) -> bool:
    """Whether its lines are there, and the change changes what runs."""
    file = found_in(ROOT, one)
    code = (ROOT / file).read_text(encoding="utf-8") if file else ""
    try:
        return file is not None and runs(with_change(code, one) or "") != runs(code)
    except SyntaxError:  # its lines stand elsewhere now, in a block of another depth
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redraw", action="store_true")
    parser.add_argument("--seed", type=int, help="another seed: with --n and --to")
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--to", type=Path, default=Path("fresh.json"))
    arguments = parser.parse_args()
    if arguments.seed is not None:
        found = fresh(arguments.n, arguments.seed)
        arguments.to.write_text(json.dumps(found, indent=1) + "\n")
        return
    drawn = json.loads(DRAWN.read_text()) if arguments.redraw and DRAWN.exists() else {}
    result = {}
    for area, wanted in AREAS.items():
        kept = [one for one in drawn.get(area, []) if still_runs(one)]
        missing = wanted - len(kept)
        salt = f"again-{len(kept)}" if kept else "first"
        result[area] = kept + (draw(area, missing, kept, salt) if missing else [])
        print(f"{area}: {len(kept)} kept, {len(result[area]) - len(kept)} drawn")
    DRAWN.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
