"""What a split is worth, and where a feature is cut."""
