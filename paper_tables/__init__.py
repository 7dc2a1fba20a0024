"""Both tables of the paper, reproduced: every row over a grid, measured against its bounds."""

from paper_tables.reproduction import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
