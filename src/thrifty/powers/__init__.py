"""Monomials and polynomials: tasks that are products, or sums of products, of few metafeatures."""

from typing import TYPE_CHECKING

from thrifty.on_demand import on_demand

if TYPE_CHECKING:
    from thrifty.powers.laws import estimated
    from thrifty.powers.model import MonomialRegressor, PolynomialRegressor
    from thrifty.powers.monomials import Monomials
    from thrifty.powers.polynomials import Polynomials

__all__ = ["MonomialRegressor", "Monomials", "PolynomialRegressor", "Polynomials", "estimated"]

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "laws": ["estimated"],
        "model": ["MonomialRegressor", "PolynomialRegressor"],
        "monomials": ["Monomials"],
        "polynomials": ["Polynomials"],
    },
)
