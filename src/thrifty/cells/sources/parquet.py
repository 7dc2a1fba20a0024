"""Cells from a Parquet file: only the columns that are looked at are read."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.cells.sources.columnar import ColumnSource, chosen_features, told_boolean
from thrifty.errors import BadInput, ThriftyError

__all__ = ["ParquetSource"]


class ParquetSource(ColumnSource):
    """A Parquet file; made by :meth:`Source.from_parquet`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        without: Collection[str] = (),
        boolean: bool | Collection[str] | None = None,
        allow_missing: bool = False,
    ) -> None:
        self.path = Path(path)
        self._file = _opened(self.path)
        there = [str(name) for name in self._file.schema_arrow.names]
        names = chosen_features(there, features, without, str(self.path))
        told = told_boolean(boolean, names)
        kinds = told if told is not None else self._kinds(names)
        rows = int(self._file.metadata.num_rows)
        super().__init__(rows, names, kinds, allow_missing=allow_missing)

    def _kinds(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Boolean columns, and numbers that are 0 or 1 throughout."""
        import pyarrow.types

        schema = self._file.schema_arrow
        out = np.zeros(len(names), dtype=np.bool_)
        unsure = []
        for i, name in enumerate(names):
            kind = schema.field(name).type
            if pyarrow.types.is_boolean(kind):
                out[i] = True
            elif pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
                unsure.append(i)
            else:
                raise BadInput(
                    f"every feature must hold numbers or Booleans; {name!r} in {self.path} holds "
                    f"{kind}. Encode it first, or leave it out with features= or without=."
                )
        for i, column in zip(unsure, self.fetch([names[i] for i in unsure])):
            out[i] = bool(((column == 0) | (column == 1)).all())
        return out

    def fetch(self, names: Sequence[str]) -> list[NDArray[np.float64]]:
        if not names:
            return []
        table = self._file.read(columns=list(names))
        out = []
        for name in names:
            values = table.column(name).to_numpy()
            if values.dtype == object:  # Booleans with gaps
                values = np.array([np.nan if v is None else float(v) for v in values.tolist()])
            out.append(values.astype(np.float64))
        return out


def _opened(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ThriftyError(
            "reading Parquet needs the package pyarrow. Type: pip install 'thrifty[frames]'"
        ) from error
    try:
        return pyarrow.parquet.ParquetFile(path)
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}.") from error
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise BadInput(f"{path} is not a Parquet file ({error}).") from error
