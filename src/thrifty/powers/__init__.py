"""Monomials and polynomials: tasks that are products, or sums of products, of few metafeatures."""

from thrifty.powers.laws import estimated
from thrifty.powers.model import MonomialRegressor, PolynomialRegressor
from thrifty.powers.monomials import Monomials
from thrifty.powers.paper_polynomials import KnownTarget
from thrifty.powers.polynomials import Polynomials

__all__ = [
    "KnownTarget",
    "MonomialRegressor",
    "Monomials",
    "PolynomialRegressor",
    "Polynomials",
    "estimated",
]
