"""From a table on disk to a packed column file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from thrifty.errors import BadInput
from thrifty.packed.inputs import read_input
from thrifty.packed.writer import Writer

__all__ = ["Packed", "pack"]


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed."""

    path: Path
    n_examples: int
    n_features: int
    n_boolean: int
    bytes: int


def pack(
    source: object,
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    without: Collection[str] = (),
    replace: bool = False,
    progress: Callable[[float], None] = lambda share: None,
) -> Packed:
    """Pack CSV, Parquet, .npy or scipy sparse data; memory stays bounded whatever its size.

    Columns that hold only 0 and 1 take a bit per cell, others eight bytes. ``without`` names
    columns to leave out, such as the labels; ``replace`` allows an earlier file to be replaced.

    >>> import tempfile
    >>> from scipy import sparse
    >>> import thrifty
    >>> folder = Path(tempfile.mkdtemp())
    >>> packed = pack(sparse.eye(3, format="csr"), folder / "eye.cells")
    >>> thrifty.Source.from_packed(packed.path)
    PackedSource(3 examples x 3 features)
    """
    target = Path(path)
    if target.exists() and not replace:
        raise BadInput(
            f"{target} is there already. Choose another name, or allow it to be replaced "
            "(--replace)."
        )
    if target.exists() and not (target / "meta.json").exists():
        raise BadInput(f"{target} is not a packed file and is not replaced.")
    table = read_input(source, names=names, without=without)
    n_examples, boolean = table.survey()
    if not n_examples:
        raise BadInput("at least one example is needed; the input has none.")
    progress(0.3)
    writer = Writer(target, n_examples, table.names, boolean)
    try:
        done = 0
        for block in table.even_blocks():
            writer.add(block)
            done += len(block)
            progress(0.3 + 0.5 * done / n_examples)
        writer.close(progress)
    except BaseException:
        writer.abandon()
        raise
    size = sum(file.stat().st_size for file in target.iterdir())
    return Packed(target, n_examples, len(table.names), int(boolean.sum()), size)
