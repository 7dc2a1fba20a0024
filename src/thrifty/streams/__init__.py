"""Task streams for experiments: lazy, seeded, satisfying the assumptions of the theory."""

from thrifty.streams.task import Task
from thrifty.streams.tree_tasks import TreeStream, trees

__all__ = ["Task", "TreeStream", "trees"]
