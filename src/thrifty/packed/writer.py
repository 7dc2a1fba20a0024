"""Writing the packed column file in bounded memory: rows come in blocks, columns go to disk.

Written beside its place under another name and put there when it is complete: a run that is
killed leaves no file that looks whole.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thrifty import kernels
from thrifty.cells.sources.packed_file import FORMAT, VERSION, hash_name, seal_of
from thrifty.errors import BadInput
from thrifty.typing import AnyArray, Json

__all__ = ["Writer"]

#: bytes of columns whose checksums are computed at once
_AT_ONCE = 16 * 2**20


class Writer:
    """Takes blocks of rows, in order; every block but the last has a multiple of 64 rows."""

    def __init__(
        self, path: Path, n_examples: int, names: Sequence[str], boolean: NDArray[np.bool_]
    ) -> None:
        self.path, self.n_examples, self.names = path, n_examples, list(names)
        if any("\0" in name for name in self.names):
            raise BadInput("a feature name must not hold a zero byte.")
        self.boolean = np.asarray(boolean, dtype=np.bool_)
        self._working = path.with_name(f"{path.name}.{os.getpid()}.part")
        if self._working.exists():
            shutil.rmtree(self._working)
        self._working.mkdir(parents=True)
        n_boolean = int(self.boolean.sum())
        words = kernels.words_for(n_examples)
        self._bits = self._room("bits.bin", "<u8", (n_boolean, words))
        self._reals = self._room("reals.bin", "<f8", (len(self.names) - n_boolean, n_examples))
        self._at = 0

    def _room(self, name: str, dtype: str, shape: tuple[int, int]) -> AnyArray | None:
        if 0 in shape:
            (self._working / name).touch()
            return None
        return np.memmap(self._working / name, dtype=dtype, mode="w+", shape=shape)

    def add(self, rows: AnyArray) -> None:
        """The next rows, all features."""
        n = len(rows)
        if self._at % 64:
            raise BadInput("only the last block of rows may end within a word of 64.")
        if self._bits is not None:
            bits = kernels.pack_columns(rows, np.flatnonzero(self.boolean))
            first = self._at // 64
            self._bits[:, first : first + bits.shape[1]] = bits
        if self._reals is not None:
            self._reals[:, self._at : self._at + n] = rows[:, ~self.boolean].T
        self._at += n

    def close(self, progress: Callable[[float], None] = lambda share: None) -> None:
        """Checksums, names, meta.json; then the file takes its place."""
        if self._at != self.n_examples:
            raise BadInput(
                f"{self.n_examples} examples were announced and {self._at} came: the input changed "
                "while it was read."
            )
        sums = np.zeros(len(self.names), dtype="<u4")
        sums[self.boolean] = _checksums(self._bits)
        sums[~self.boolean] = _checksums(self._reals)
        progress(0.9)
        self._write_small(sums)
        for room in (self._bits, self._reals):
            if room is not None:
                room.flush()  # type: ignore[attr-defined]
        self._bits = self._reals = None
        for file in self._working.iterdir():
            _sync(file)
        if self.path.exists():
            shutil.rmtree(self.path)
        os.replace(self._working, self.path)
        progress(1.0)

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._bits = self._reals = None
        shutil.rmtree(self._working, ignore_errors=True)

    def _write_small(self, sums: NDArray[np.uint32]) -> None:
        texts = [name.encode() + b"\0" for name in self.names]
        hashes = np.array([hash_name(text[:-1]) for text in texts], dtype="<u8")
        order = np.argsort(hashes, kind="stable")
        small = {
            "kinds.bin": self.boolean.astype(np.uint8).tobytes(),
            "sums.bin": sums.tobytes(),
            "names.bin": b"".join(texts),
            "ends.bin": np.cumsum([len(text) for text in texts]).astype("<i8").tobytes(),
            "hashes.bin": hashes[order].tobytes(),
            "places.bin": order.astype("<i8").tobytes(),
        }
        for name, data in small.items():
            (self._working / name).write_bytes(data)
        sizes = {file.name: file.stat().st_size for file in sorted(self._working.iterdir())}
        meta: Json = {
            "format": FORMAT,
            "version": VERSION,
            "n_examples": self.n_examples,
            "n_features": len(self.names),
            "n_boolean": int(self.boolean.sum()),
            "sizes": sizes,
            "checksums": {name: zlib.crc32(data) for name, data in small.items()},
        }
        meta["seal"] = seal_of(meta)
        text = json.dumps(meta, sort_keys=True, indent=1)
        (self._working / "meta.json").write_text(text, encoding="utf-8")


def _checksums(room: AnyArray | None) -> list[int]:
    if room is None:
        return []
    step = max(1, _AT_ONCE // (room.shape[1] * 8))
    sums: list[int] = []
    for start in range(0, len(room), step):
        block = np.ascontiguousarray(room[start : start + step]).view(np.uint8)
        sums += [zlib.crc32(row) for row in block]
    return sums


def _sync(file: Path) -> None:
    with open(file, "rb") as handle:
        os.fsync(handle.fileno())
