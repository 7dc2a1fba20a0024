"""Draw small changes to the source with cosmic-ray's operators, by a seed, as data.

    python tools/draw_mutants.py --n 300                      writes tests/mutants/drawn.json
    python tools/draw_mutants.py --n 60 --seed 5 --to fresh.json

Without a seed one is drawn, and written down. A file is drawn first (by its length), then a place
in it, then one of the operators that fit there. What changes nothing that runs (annotations,
protocols) is left out. A mutation is its file, the lines it replaces and the lines it puts there,
so it survives moves.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import random
import secrets
from functools import cache
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from mutated import Mutation

ROOT = Path(__file__).resolve().parents[1]
#: the tests of stores in PostgreSQL start a server; the last two choose how kernels are compiled
LEFT_OUT = ("postgres.py", "__init__.py", "lines.py", "jit.py")
#: those that need no arguments
OPERATORS = sorted(name for name in operator_names() if "Variable" not in name)


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
                own, node.args = node.decorator_list, ast.arguments([], [], None, [], [], None, [])
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


def draw(wanted: int, seed: int) -> list[Mutation]:
    """So many mutations, each at a place of its own."""
    chance = random.Random(seed)
    found = sorted((ROOT / "src/thrifty").rglob("*.py"))
    codes = {path: path.read_text("utf-8") for path in found if path.name not in LEFT_OUT}
    lengths = [code.count("\n") for code in codes.values()]
    drawn: dict[tuple[str, str], Mutation] = {}
    while len(drawn) < wanted:
        path = chance.choices(list(codes), lengths)[0]
        here = places(codes[path])
        if here:
            name, occurrence = chance.choice(here[chance.choice(sorted(here))])
            mutated = changed(codes[path], name, occurrence)
            one = as_data(path, codes[path], mutated, name) if mutated else None
            if one:
                drawn.setdefault((one["file"], one["old"]), one)
    return list(drawn.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--to", type=Path, default=ROOT / "tests/mutants/drawn.json")
    given = parser.parse_args()
    found = {"seed": given.seed, "drawn": draw(given.n, given.seed)}
    given.to.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
