"""When a prediction stops asking: what a rule of your own has to be."""

from thrifty.lazy.stopping import StoppingRule, Sure, Worth

__all__ = ["StoppingRule", "Sure", "Worth"]
