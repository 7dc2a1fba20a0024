"""What becomes of a row that lacks the value it is asked for.

``missing="error"``, the default: NaN is refused when the data come in. ``missing="larger-child"``:
such a row follows the larger child, in learning (of the rows at the node that have the value) and
in predicting (of the training rows); the false child of two equals. A price is paid for asking,
whether or not the answer is NaN.
"""

from __future__ import annotations

from thrifty.errors import BadParameter

__all__ = ["MISSING", "allows_missing"]

MISSING = ("error", "larger-child")


def allows_missing(missing: object) -> bool:
    """Whether NaN may come in; refuse an unknown rule."""
    if missing not in MISSING:
        raise BadParameter(f"missing must be one of {list(MISSING)}; got {missing!r}.")
    return missing == "larger-child"
