"""How a representation is written: whole, or in parts of which only those that changed."""

from __future__ import annotations

from collections.abc import Mapping

from thrifty.protocol import AnyFamily, Block, InBlocks, Representation
from thrifty.stores.task_pages import TaskPages
from thrifty.typing import Json, JsonLike

__all__ = ["begin_again", "load_parts", "write_parts"]

#: in a lifetime's state: the representation there is a head, its blocks are in their own table
_IN_BLOCKS = "in_blocks"


def write_parts(
    pages: TaskPages, state: Json, representation: Representation, stored: Representation | None
) -> int:
    """Write what a lifetime knows now, beside the rest of its state; returns the version.

    ``stored`` is what the store holds in blocks, None where it holds none: a block that is the
    same object there stays as it is.
    """
    if not isinstance(representation, InBlocks):
        return pages.put_representation({**state, "representation": representation.to_dict()})
    blocks = representation.blocks()
    before: Mapping[str, Block] = stored.blocks() if isinstance(stored, InBlocks) else {}
    new = {name: block for name, block in blocks.items() if before.get(name) is not block}
    pages.put_known_blocks(
        {name: block.to_bytes() for name, block in new.items()}, before.keys() - blocks.keys()
    )
    head = {"representation": representation.head(), _IN_BLOCKS: True}
    return pages.put_representation({**state, **head})


def load_parts(
    pages: TaskPages, data: JsonLike, family: AnyFamily
) -> tuple[Representation, Representation | None]:
    """The representation, and what of it is in blocks: the same, or None."""
    if not data.get(_IN_BLOCKS):
        return family.load_representation(data["representation"]), None
    whole = {**data["representation"], "blocks": pages.known_blocks()}
    representation = family.load_representation(whole)
    return representation, representation


def begin_again(pages: TaskPages, data: Json, start: Representation) -> None:
    """Put an empty representation, of another family, into the state."""
    pages.drop_known_blocks()
    data["representation"] = start.to_dict()
    data.pop(_IN_BLOCKS, None)
