"""The packed column file ``data.cells/``: a bit per Boolean cell, a column read without the others.

A folder of flat files, little-endian, memory-mapped:

    meta.json     format, version, sizes, checksums of the small files, sealed by one of its own
    bits.bin      Boolean columns one after the other, 64 examples to a word
    reals.bin     real-valued columns one after the other, float64
    kinds.bin     a byte per feature: 1 Boolean, 0 real-valued
    sums.bin      a CRC-32 per column
    names.bin     the feature names, UTF-8, each ended by a zero byte

A column is checked when it is read, sizes when the file is opened; what does not fit is refused.
"""

from __future__ import annotations

import json
import mmap
import zlib
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from thrifty import kernels
from thrifty.cells.sources.base import Source
from thrifty.errors import DamagedFile
from thrifty.kernels import words_for
from thrifty.typing import AnyArray, Bools, Floats, Ints, JsonLike, Words
from thrifty.untrusted import readable

FORMAT, VERSION = "thrifty packed cells", 1
_FILES = {"kinds.bin", "sums.bin", "names.bin", "bits.bin", "reals.bin"}
#: an index of the names, which earlier versions wrote
_OF_OLD = {"ends.bin", "hashes.bin", "places.bin"}


def seal_of(meta: JsonLike) -> int:
    """The checksum of everything else that meta.json says."""
    rest = {key: value for key, value in meta.items() if key != "seal"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


class PackedSource(Source):
    """An opened packed file; nothing but its few numbers is read before it is asked for."""

    named = True

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        with readable(f"the packed file {self.path}", DamagedFile):
            self._open(_read_meta(self.path))

    def __reduce__(self) -> tuple[object, ...]:
        """On another worker: the same folder, opened there."""
        return PackedSource, (str(self.path.absolute()),)

    def _open(self, meta: JsonLike) -> None:
        self.n_examples, self._n_features, self.n_boolean = _sizes(meta, self.path)
        self.words = words_for(self.n_examples)
        self._checksums: dict[str, int] = meta["checksums"]
        self._check_sizes(meta)
        self._sums = np.frombuffer(self._small("sums.bin"), dtype="<u4")
        if len(self._sums) != self.n_features:
            raise ValueError(f"{len(self._sums)} checksums for {self.n_features} features")
        self._bits = self._map("bits.bin", "<u8", (self.n_boolean, self.words))
        self._reals = self._map(
            "reals.bin", "<f8", (self.n_features - self.n_boolean, self.n_examples)
        )

    def _check_sizes(self, meta: JsonLike) -> None:
        n, n_reals = self.n_features, self.n_features - self.n_boolean
        sizes = {**meta["sizes"], "sums.bin": 4 * n, "kinds.bin": n}
        sizes["bits.bin"] = 8 * self.n_boolean * self.words
        sizes["reals.bin"] = 8 * n_reals * self.n_examples
        if set(sizes) - _FILES - _OF_OLD:
            raise ValueError(f"it names files that are none of its own: {sorted(sizes)}")
        for name, size in sizes.items():
            file = self.path / name
            found = file.stat().st_size if file.exists() else None
            if found != size:
                got = "it is not there" if found is None else f"it has {found:,}"
                raise DamagedFile(
                    f"{file} must have {size:,} bytes and {got}: the packed file is truncated or "
                    "not of one piece. Pack the data again."
                )

    def _map(self, name: str, dtype: str, shape: tuple[int, int]) -> AnyArray:
        if 0 in shape:
            return np.zeros(shape, dtype=dtype)
        room = np.memmap(self.path / name, dtype=dtype, mode="r", shape=shape)
        if hasattr(mmap, "MADV_RANDOM"):  # a few columns far apart: reading ahead is waste
            room._mmap.madvise(mmap.MADV_RANDOM)  # type: ignore[attr-defined]
        return room

    def _small(self, name: str) -> bytes:
        """A small file as a whole, checked."""
        data = (self.path / name).read_bytes()
        if zlib.crc32(data) != self._checksums[name]:
            raise DamagedFile(
                f"{self.path / name} was altered: its checksum is not the one written with it. "
                "Pack the data again, or fetch the file again."
            )
        return data

    @property
    def n_features(self) -> int:
        return self._n_features

    @cached_property
    def boolean(self) -> Bools:  # type: ignore[override]
        """Which features are Boolean."""
        if self.n_boolean == self.n_features:
            return np.ones(self.n_features, dtype=np.bool_)
        kinds = np.frombuffer(self._small("kinds.bin"), dtype=np.uint8).astype(np.bool_)
        if int(kinds.sum()) != self.n_boolean:
            raise DamagedFile(
                f"{self.path} says it has {self.n_boolean} Boolean features, and {kinds.sum()} are "
                "marked as such. Pack the data again."
            )
        return kinds

    @cached_property
    def _places(self) -> Ints:
        """Each feature's row among those of its kind."""
        boolean = self.boolean
        return np.where(boolean, np.cumsum(boolean), np.cumsum(~boolean)) - 1

    @cached_property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """All feature names, in order."""
        with readable(f"the packed file {self.path}", DamagedFile):
            names = tuple(self._small("names.bin").decode().split("\0")[:-1])
            if len(names) != self.n_features or len(set(names)) != len(names):
                raise ValueError(f"{len(set(names))} names for {self.n_features} features")
        return names

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        boolean = self.boolean[features]
        if boolean.all():
            return np.asarray(kernels.unpack_columns(self.columns(features), rows))
        out = np.empty((len(rows), len(features)))
        out[:, boolean] = kernels.unpack_columns(self.columns(features[boolean]), rows)
        out[:, ~boolean] = self.reals(features[~boolean])[:, rows].T
        return out

    def columns(self, features: Ints) -> Words:
        """Boolean features packed over the examples: (k, W), each checked."""
        if self.n_boolean == self.n_features:
            block = self._bits[features]
        else:
            block = self._bits[self._places[features]]
        self._check(block, features)
        return np.asarray(block, dtype=np.uint64)

    def reals(self, features: Ints) -> Floats:
        """Real-valued features: (k, S), each checked."""
        block = self._reals[self._places[features]]
        self._check(block, features)
        return np.asarray(block, dtype=np.float64)

    def tiles(self) -> Words:
        if hasattr(mmap, "MADV_SEQUENTIAL"):  # all columns, one after the other
            for room in (self._bits, self._reals):
                if isinstance(room, np.memmap):
                    room._mmap.madvise(mmap.MADV_SEQUENTIAL)  # type: ignore[attr-defined]
        return super().tiles()

    def _check(self, block: AnyArray, features: Ints) -> None:
        expected = self._sums[features].tolist()
        for i, row in enumerate(np.ascontiguousarray(block).view(np.uint8)):
            if zlib.crc32(row) != expected[i]:
                name = self.feature_names[int(features[i])]
                raise DamagedFile(
                    f"column {name!r} of {self.path} was altered: its checksum is not the one "
                    "written with it. Pack the data again, or fetch the file again."
                )


def _sizes(meta: JsonLike, path: Path) -> tuple[int, int, int]:
    """(examples, features, Boolean ones), if they can be."""
    given = [meta[key] for key in ("n_examples", "n_features", "n_boolean")]
    n_examples, n_features, n_boolean = given
    if not all(type(n) is int for n in given) or not (
        1 <= n_examples < 1 << 40 and 1 <= n_features < 1 << 40 and 0 <= n_boolean <= n_features
    ):
        raise DamagedFile(
            f"{path} says it has {n_examples!r} examples and {n_features!r} features, "
            f"{n_boolean!r} of them Boolean; that cannot be. Pack the data again."
        )
    return n_examples, n_features, n_boolean


def _read_meta(path: Path) -> JsonLike:
    try:
        meta: JsonLike = json.loads((path / "meta.json").read_bytes())
        known, version, seal = meta["format"], meta["version"], meta["seal"]
    except FileNotFoundError as error:
        raise DamagedFile(
            f"{path} is not a packed file: it has no meta.json. Make one with: thrifty store pack "
            "data.parquet data.cells"
        ) from error
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise DamagedFile(f"{path / 'meta.json'} cannot be read: {error}.") from error
    if known != FORMAT:
        raise DamagedFile(f"{path} is not a packed file of Thrifty: its format is {known!r}.")
    if version != VERSION:
        raise DamagedFile(
            f"{path} was packed in version {version} of the format and this Thrifty reads version "
            f"{VERSION}. Pack the data again, or use the Thrifty that packed it."
        )
    if seal != seal_of(meta):
        raise DamagedFile(f"{path / 'meta.json'} was altered. Pack the data again.")
    return meta
