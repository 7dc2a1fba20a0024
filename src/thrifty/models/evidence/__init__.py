"""What the cells that were bought tell of the labels, and whether more would pay."""
