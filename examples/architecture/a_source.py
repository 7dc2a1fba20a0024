"""A source of your own: lines of JSON. It says what it has and reads blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import thrifty


class JsonLines(thrifty.Source):
    """One example a line, one key a feature, true or false."""

    def __init__(self, path: Path) -> None:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        names = tuple(rows[0])
        self._values = np.array([[row[name] for name in names] for row in rows], dtype=np.uint8)
        self.named = True
        super().__init__(len(rows), names, np.ones(len(names), dtype=np.bool_))

    def read(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Values of a block."""
        return np.asarray(self._values[np.ix_(rows, features)])


def main(folder: Path) -> Any:
    """Write a file, learn from it, predict on it."""
    bits = np.random.default_rng(0).integers(0, 2, (300, 6))
    path = folder / "rows.jsonl"
    lines = [json.dumps({f"f{j}": bool(v) for j, v in enumerate(row)}) for row in bits]
    path.write_text("\n".join(lines), encoding="utf-8")
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    learned = life.learn("both", JsonLines(path), bits[:, 1] & bits[:, 4])
    print(learned.model, learned.receipt.cells)
    return life.predict("both", JsonLines(path)), bits


if __name__ == "__main__":
    main(Path())
