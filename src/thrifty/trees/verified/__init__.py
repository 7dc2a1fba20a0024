"""Evidence instead of consistency, for noisy labels."""
