"""The packed column file ``data.cells/``: a bit per Boolean cell, a column read without the others.

A folder of flat files, little-endian, memory-mapped:

    meta.json     format, version, sizes, checksums of the small files, sealed by one of its own
    bits.bin      Boolean columns one after the other, 64 examples to a word
    reals.bin     real-valued columns one after the other, float64
    kinds.bin     a byte per feature: 1 Boolean, 0 real-valued
    sums.bin      a CRC-32 per column
    names.bin     the feature names, UTF-8, each ended by a zero byte
    ends.bin      where each name ends
    hashes.bin    64-bit hashes of the names, ascending, and
    places.bin    the features they belong to: a name is found by bisection

A column is checked when it is read, sizes when the file is opened; what does not fit is refused.
"""

from __future__ import annotations

import json
import mmap
import zlib
from functools import cached_property
from hashlib import blake2b
from os import PathLike
from pathlib import Path

import numpy as np

from thrifty import kernels
from thrifty.array_types import Bools, Floats, Ints, Words
from thrifty.cells.sources.base import Source
from thrifty.errors import DamagedFile, UnknownFeature
from thrifty.kernels import words_for
from thrifty.typing import AnyArray, JsonLike
from thrifty.untrusted import readable

FORMAT, VERSION = "thrifty packed cells", 1
_SMALL = ("kinds.bin", "sums.bin", "names.bin", "ends.bin", "hashes.bin", "places.bin")


def hash_name(name: bytes) -> int:
    """Eight bytes that tell names apart, the same on every machine."""
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little")


def seal_of(meta: JsonLike) -> int:
    """The checksum of everything else that meta.json says."""
    rest = {key: value for key, value in meta.items() if key != "seal"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


class PackedFile:
    """An opened packed file; nothing but its few numbers is read before it is asked for."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        with readable(f"the packed file {self.path}", DamagedFile):
            self._open(_read_meta(self.path))

    def _open(self, meta: JsonLike) -> None:
        self.n_examples, self.n_features, self.n_boolean = _sizes(meta, self.path)
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
        n = self.n_features
        sizes = {**meta["sizes"], "sums.bin": 4 * n, "hashes.bin": 8 * n, "places.bin": 8 * n,
                 "ends.bin": 8 * n, "kinds.bin": n, "bits.bin": 8 * self.n_boolean * self.words,
                 "reals.bin": 8 * (n - self.n_boolean) * self.n_examples}  # fmt: skip
        if set(sizes) - {*_SMALL, "bits.bin", "reals.bin"}:
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

    def expect_everything(self) -> None:
        """All columns are going to be read, one after the other."""
        for room in (self._bits, self._reals):
            if isinstance(room, np.memmap) and hasattr(mmap, "MADV_SEQUENTIAL"):
                room._mmap.madvise(mmap.MADV_SEQUENTIAL)  # type: ignore[attr-defined]

    def _small(self, name: str) -> bytes:
        """A small file as a whole, checked."""
        data = (self.path / name).read_bytes()
        if zlib.crc32(data) != self._checksums[name]:
            raise DamagedFile(
                f"{self.path / name} was altered: its checksum is not the one written with it. "
                "Pack the data again, or fetch the file again."
            )
        return data

    @cached_property
    def boolean(self) -> Bools:
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
    def names(self) -> tuple[str, ...]:
        """All feature names, in order."""
        with readable(f"the packed file {self.path}", DamagedFile):
            names = tuple(self._small("names.bin").decode().split("\0")[:-1])
            if len(names) != self.n_features or len(set(names)) != len(names):
                raise ValueError(f"{len(set(names))} names for {self.n_features} features")
        return names

    def find(self, names: list[str]) -> Ints:
        """The features of these names, without reading the other names."""
        with readable(f"the packed file {self.path}", DamagedFile):
            return self._find(names)

    def _find(self, names: list[str]) -> Ints:
        n = self.n_features
        hashes = np.memmap(self.path / "hashes.bin", dtype="<u8", mode="r", shape=(n,))
        places = np.memmap(self.path / "places.bin", dtype="<i8", mode="r", shape=(n,))
        ends = np.memmap(self.path / "ends.bin", dtype="<i8", mode="r", shape=(n,))
        texts = np.memmap(self.path / "names.bin", dtype=np.uint8, mode="r")
        wanted = np.array([hash_name(name.encode()) for name in names], dtype=np.uint64)
        found = np.empty(len(names), dtype=np.int64)
        for i, (name, at) in enumerate(zip(names, np.searchsorted(hashes, wanted).tolist())):
            while at < n and hashes[at] == wanted[i]:
                place = int(places[at])
                if not 0 <= place < n:
                    raise ValueError(f"a name at place {place} of {n}")
                start = int(ends[place - 1]) if place else 0
                if texts[start : int(ends[place]) - 1].tobytes() == name.encode():
                    found[i] = place
                    break
                at += 1
            else:
                raise UnknownFeature(
                    f"{self.path} has {n:,} features and none is named {name!r}; the first is "
                    f"{self.names[0]!r}."
                )
        return found

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

    def _check(self, block: AnyArray, features: Ints) -> None:
        expected = self._sums[features].tolist()
        for i, row in enumerate(np.ascontiguousarray(block).view(np.uint8)):
            if zlib.crc32(row) != expected[i]:
                name = self.names[int(features[i])]
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


class PackedSource(Source):
    """A folder of ``thrifty store pack``; columns are read, and checked, when they are asked."""

    named = True

    def __init__(self, path: str | PathLike[str]) -> None:
        self.file = PackedFile(path)
        self.n_examples = self.file.n_examples
        self.boolean = self.file.boolean

    def __reduce__(self) -> tuple[object, ...]:
        """On another worker: the same folder, opened there."""
        return PackedSource, (str(self.file.path.absolute()),)

    @property
    def n_features(self) -> int:
        return self.file.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.file.names

    def read(self, rows: Ints, features: Ints) -> AnyArray:
        boolean = self.boolean[features]
        if boolean.all():
            return np.asarray(kernels.unpack_columns(self.file.columns(features), rows))
        out = np.empty((len(rows), len(features)))
        bits = self.file.columns(features[boolean])
        out[:, boolean] = kernels.unpack_columns(bits, rows)
        out[:, ~boolean] = self.file.reals(features[~boolean])[:, rows].T
        return out

    def columns(self, features: Ints) -> Words:
        return self.file.columns(features)

    def tiles(self) -> Words:
        self.file.expect_everything()
        return super().tiles()
