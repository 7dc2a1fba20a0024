"""What past tasks taught a lifetime of models."""
