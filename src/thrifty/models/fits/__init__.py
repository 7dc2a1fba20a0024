"""What is fitted on a bought table: the mixture and its parts, calibrated, and how good it is."""
