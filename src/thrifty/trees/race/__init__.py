"""The same trees for fewer cells: candidates are dropped on samples."""
