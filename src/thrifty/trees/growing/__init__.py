"""Growing a tree from scratch: every cell, every feature at every node."""
