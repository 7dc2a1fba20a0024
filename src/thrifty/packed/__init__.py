"""Packing a table into a column file that is read a column at a time."""

from thrifty.packed.pack import Packed, pack

__all__ = ["Packed", "pack"]
