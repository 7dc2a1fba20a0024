"""Monomials and polynomials: tasks that are products, or sums of products, of few metafeatures."""

from thrifty.powers.model import MonomialRegressor, PolynomialRegressor
from thrifty.powers.monomials import Monomials

__all__ = ["MonomialRegressor", "Monomials", "PolynomialRegressor"]
