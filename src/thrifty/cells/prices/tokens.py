"""What a language model costs: so much per million tokens read, written, or read from a cache."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from functools import lru_cache
from numbers import Real

from thrifty.cells.prices.money import UNIT, one_currency
from thrifty.errors import BadInput


def estimated_tokens(text: str) -> int:
    """How many tokens a text has, at most in all likelihood: a third of its bytes.

    English has about four and a half letters to a token, German and code fewer. Give
    ``from_questions(tokens=...)`` the model's own count where you have it.

    >>> estimated_tokens("How old is the patient?")
    8
    """
    return -(-len(text.encode()) // 3)


@dataclass(frozen=True)
class Rates:
    """Prices per million tokens, as providers print them.

    Parameters
    ----------
    input, output : number or str
        per million tokens read and written; numbers, or text with a currency
    cached : None, number or str
        per million tokens that the provider read from its cache; None: like ``input``
    batch : float
        the share of these prices that a batch costs, 0.5 with most providers

    Raises
    ------
    thrifty.errors.BadInput
        an amount that is no number of 0 or more
    thrifty.errors.MixedCurrencies
        rates in two currencies

    See Also
    --------
    thrifty.ChatServer : who charges them
    thrifty.PriceList : prices by the cell

    Examples
    --------
    >>> rates = Rates("0.15 USD", "0.60 USD", cached="0.075 USD", batch=0.5)
    >>> rates.cost(read=1200, written=40), rates.cost(read=1200, written=40, cached=1000)
    (204, 129)
    >>> rates.in_batch().cost(read=1200, written=40)
    102
    """

    input: object
    output: object
    cached: object = None
    batch: float = 0.5

    def __post_init__(self) -> None:
        self._read()
        share = self.batch
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share <= 1:
            raise BadInput(
                f"batch must be the share of the price that a batch costs, above 0 and at most 1; "
                f"got {self.batch!r}."
            )

    def _read(self) -> tuple[Decimal, Decimal, Decimal, str]:
        given = (self.input, self.output, self.input if self.cached is None else self.cached)
        kinds = tuple(map(type, given))
        if all(kind in (str, int, float, Decimal) for kind in kinds):
            return _rates(given, kinds)
        return _rates.__wrapped__(given, kinds)

    @property
    def currency(self) -> str:
        return self._read()[3]

    def cost(self, read: int, written: int, cached: int = 0) -> int:
        """What so many tokens cost, in minor units, rounded up; ``cached`` are among ``read``."""
        new, out, old, _ = self._read()
        cached = min(max(cached, 0), read)
        exact = (new * (read - cached) + old * cached + out * written) * UNIT / 1_000_000
        return int(exact.to_integral_value(rounding=ROUND_CEILING))

    @classmethod
    def of(cls, model: str, base_url: str | None = None) -> Rates:
        """What providers print for a model, from the package ``genai-prices`` (thrifty[rates]).

        They are those of short prompts, in USD; whoever pays others gives ``Rates`` of their own.

        Parameters
        ----------
        model : str
            as the provider calls it
        base_url : str or None
            of the provider; None: whoever is known for the model
        """
        try:
            import genai_prices
        except ImportError as error:
            raise BadInput(
                f"the prices of {model!r} are missing: give rates=thrifty.Rates(input, output), or "
                "type: pip install 'thrifty[rates]'"
            ) from error

        def per_million(**tokens: int) -> str:
            found = genai_prices.calc_price(
                genai_prices.Usage(**tokens), model, provider_api_url=base_url
            )
            return f"{found.total_price * 1000:f} USD"

        try:
            return cls(
                per_million(input_tokens=1000, output_tokens=0),
                per_million(input_tokens=0, output_tokens=1000),
                per_million(input_tokens=1000, cache_read_tokens=1000, output_tokens=0),
            )
        except LookupError as error:
            raise BadInput(
                f"genai-prices knows no prices of {model!r}"
                + ("" if base_url is None else f" at {base_url}")
                + ": give rates=thrifty.Rates(input, output)."
            ) from error

    def in_batch(self) -> Rates:
        """The same at the price of a batch."""
        new, out, old, currency = self._read()
        share = Decimal(str(self.batch))

        def text(rate: Decimal) -> str:
            return f"{rate * share:f} {currency}".strip()

        return Rates(text(new), text(out), text(old), 1.0)


@lru_cache(maxsize=64)  # for every call; by kind too, since True equals 1 and is no rate
def _rates(
    given: tuple[object, object, object], kinds: tuple[type, ...]
) -> tuple[Decimal, Decimal, Decimal, str]:
    read = [_rate(g) for g in given]
    currency = one_currency({label for _, label in read}, "rates")
    return read[0][0], read[1][0], read[2][0], currency


def _rate(given: object) -> tuple[Decimal, str]:
    """An amount per million tokens: any number of decimals, since it is divided by a million."""
    number, label = given, ""
    if isinstance(given, str):
        parts = given.split()
        if len(parts) in (1, 2):
            number, label = parts[0], (parts[1].upper() if len(parts) == 2 else "")
    try:
        exact = Decimal(str(number))
    except (InvalidOperation, ValueError) as error:
        raise BadInput(
            f"a rate is a number per million tokens, or text such as '0.15 USD'; got {given!r}."
        ) from error
    if isinstance(number, bool) or not exact.is_finite() or exact < 0:
        raise BadInput(f"a rate must be a finite number, 0 or more; got {given!r}.")
    return exact, label
