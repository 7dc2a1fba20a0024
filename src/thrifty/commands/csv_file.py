"""CSV as it comes: commas, semicolons or tabs between columns, points or commas in numbers."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from thrifty.errors import BadInput, ThriftyError

if TYPE_CHECKING:
    import pandas

__all__ = ["read_csv", "the_pandas"]

_BETWEEN = (",", ";", "\t", "|")
#: 3,5 and -12,75; not 1,200.5
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*$")
#: different words that a column of numbers may hold: "-", "NA"
_WORDS = 2
_WHOLE = re.compile(r"\s*[+-]?\d+\s*$")


def read_csv(path: Path) -> pandas.DataFrame:
    """A pandas frame of a CSV file, whatever stands between its columns.

    Spreadsheets of half of the world write semicolons between columns and commas in numbers. What
    separates the header into most columns is what separates the others. A comma in a number is
    looked for where commas do not separate columns: there it can mean nothing else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("id;weight;note\\n1;70,5;'a, b'\\n2;81;c\\n")
    ...     read_csv(path)["weight"].tolist()
    [70.5, 81.0]
    """
    pandas = the_pandas()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            between = _separator(file.readline())
        frame = pandas.read_csv(path, sep=between, encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"the file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not written in UTF-8 (byte {error.start}). Save it as 'CSV UTF-8'."
        ) from error
    except ValueError as error:
        raise BadInput(f"{path} is not CSV: {error}.") from error
    return frame if between == "," else _with_points(frame)


def _separator(header: str) -> str:
    """What separates a header into most columns; commas, where two do equally well."""
    columns = [len(next(csv.reader([header], delimiter=mark), [])) for mark in _BETWEEN]
    return _BETWEEN[columns.index(max(columns))]


def _with_points(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Columns of numbers with commas in them, as numbers."""
    for name in frame.columns:
        column = frame[name]
        texts = [v for v in column.tolist() if isinstance(v, str)]
        commas = [v for v in texts if _DECIMAL_COMMA.match(v)]
        words = {v for v in texts if not (_DECIMAL_COMMA.match(v) or _WHOLE.match(v))}
        if commas and not words:
            frame[name] = [float(v.replace(",", ".")) if isinstance(v, str) else v for v in column]
        elif commas and len(words) <= _WORDS:  # marks for gaps, which whoever reads kinds will find
            frame[name] = [v.replace(",", ".") if v in commas else v for v in column]
    return frame


def the_pandas() -> ModuleType:
    """pandas, which is an extra; without it, how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ThriftyError(
            "reading CSV needs the package pandas. Type: pip install 'thrifty[frames]'"
        ) from error
    found: ModuleType = pandas
    return found
