"""Money as integers: minor units inside, a currency label outside.

A minor unit is a millionth of the currency's unit: fine enough for a question put to a language
model, and 64 bits still hold nine million million units. Sums of integers are exact, so a budget is
exact too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from numbers import Real

import numpy as np

from thrifty.errors import BadInput, BudgetExceeded, MixedCurrencies
from thrifty.typing import Ints, MoneyLike

#: minor units in one unit of the currency
UNIT = 1_000_000

#: every sum that is kept stays below it, so that two of them still fit 64 bits
LARGEST = 2**62

#: decimals below this have room, at the usual precision, for every digit of a millionth
_COMMON = Decimal(10**9)

_WITH_LABEL = re.compile(r"^\s*([0-9.eE+-]+)\s*([A-Za-z]{1,12})?\s*$")


def read_amount(given: object, what: str = "price") -> tuple[int, str]:
    """An amount in minor units, and its currency label ("" where none was given).

    Integers, decimals and text must be exact; a float is taken as the decimal it prints as and
    rounded to the minor unit, which may change it by a thousandth at most.

    >>> read_amount(22.78), read_amount("0.0004 USD")
    ((22780000, ''), (400, 'USD'))
    """
    if type(given) is float and given.is_integer() and 0 <= given < 1e9:
        return int(given) * UNIT, ""  # the common case, in a fortieth of the time
    if (
        type(given) is Decimal and given.is_finite() and 0 <= given < _COMMON
    ):  # what a call of so many tokens cost
        minor = int(given * UNIT)
        if minor == given * UNIT:
            return minor, ""
    label, number, shown = "", given, _shown(given)
    if isinstance(given, str):
        match = _WITH_LABEL.match(given)
        if match is None:
            raise BadInput(f"a {what} must be a number, or text such as '22.78 EUR'; got {shown}.")
        number, label = match.group(1), (match.group(2) or "").upper()
    if isinstance(number, bool):
        raise BadInput(f"a {what} must be a number; got {shown}.")
    try:
        exact = Decimal(str(number))
    except (InvalidOperation, ValueError) as error:
        raise BadInput(f"a {what} must be a number; got {shown}.") from error
    if not exact.is_finite() or exact < 0:
        raise BadInput(f"a {what} must be a finite number, 0 or more; got {shown}.")
    if exact.adjusted() >= 16:  # before multiplying: there may be a million digits
        raise BadInput(f"a {what} must be below {LARGEST // UNIT}; got {shown}.")
    with localcontext(prec=400):
        scaled = exact * UNIT
        minor = int(scaled.to_integral_value()) if exact.adjusted() > -40 else 0
        off = abs(scaled - minor)
    loose = isinstance(number, float) or hasattr(number, "dtype")
    if off > (scaled / 1000 if loose else 0) or len(exact.as_tuple().digits) > 300:
        raise BadInput(
            f"a {what} may have six decimals, a millionth is the smallest unit kept; got {shown}."
        )
    if minor >= LARGEST:
        raise BadInput(f"a {what} must be below {LARGEST // UNIT}; got {shown}.")
    return minor, label


def _shown(given: object) -> str:
    """What was given, short; a number of five thousand digits cannot even be printed."""
    try:
        text = repr(given)
    except Exception:
        text = f"a {type(given).__name__}"
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def total(amounts: Ints) -> int:
    """The sum of amounts, exact at any size.

    >>> total(np.full(4, 2**61)) == 2**63
    True
    """
    if len(amounts) == 1:  # of one text, many times
        return int(amounts[0])
    if len(amounts) and int(amounts.max()) >= LARGEST // len(amounts):
        return sum(amounts.tolist())
    return int(amounts.sum())


def product(counts: Ints, prices: Ints) -> int:
    """What so many cells of each price cost together, exact at any size."""
    some = np.flatnonzero(counts)
    if not len(some):
        return 0
    most = int(counts[some].max()) * int(prices[some].max())
    if most >= LARGEST // len(some):
        return sum(n * price for n, price in zip(counts[some].tolist(), prices[some].tolist()))
    return int(counts[some] @ prices[some])


def refuse_too_large(minor: int, what: str) -> int:
    """The amount itself; one that could not be kept exactly is refused before it is spent."""
    if minor >= LARGEST:
        raise BadInput(
            f"{what} is {amount_text(minor)}, which is too large: amounts are kept to a millionth "
            f"and stay below {LARGEST // UNIT}. Count in a larger unit, for instance in thousands."
        )
    return minor


def to_units(minor: int) -> float:
    """What users see: units of the currency.

    >>> to_units(22780000)
    22.78
    """
    return float(Decimal(int(minor)) / UNIT)


def minor_units(units: float) -> int:
    """A sum that was written as a float, rounded up; its last bits come from nowhere.

    >>> minor_units(4.03), minor_units(1e-7)
    (4030000, 1)
    """
    return -int(-round(units * UNIT, 3) // 1)


def amount_text(minor: int, currency: str = "") -> str:
    """An amount as people write it.

    >>> amount_text(22780000, "EUR"), amount_text(400)
    ('22.78 EUR', '0.0004')
    """
    whole, rest = divmod(abs(int(minor)), UNIT)
    decimals = f"{rest:06d}".rstrip("0")
    if len(decimals) == 1:
        decimals += "0"
    text = f"{'-' if minor < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"
    return f"{text} {currency}".strip()


def one_currency(labels: set[str], where: str) -> str:
    """The one currency among labels, "" where there is none; more than one is an error."""
    known = sorted(labels - {""})
    if len(known) > 1:
        raise MixedCurrencies(
            f"{where} must be in one currency; got {', '.join(known)}. Thrifty does not convert "
            "money: convert the amounts first."
        )
    return known[0] if known else ""


@dataclass(frozen=True, slots=True)
class Limits:
    """A budget in minor units, as the ledger compares it; None is no limit."""

    total: int | None = None
    per_task: int | None = None
    per_example: int | None = None
    currency: str = ""

    def left(self, total: int, mine: int) -> int | None:
        """What is left after so much was spent in all, and on this task; None: no limit."""
        return smallest(
            None if self.total is None else self.total - total,
            None if self.per_task is None else self.per_task - mine,
        )

    def check(self, scope: str, needed: int, used: int, whose: str = "") -> None:
        """Refuse what would go beyond a limit, saying what was needed and what was left."""
        limit = {"total": self.total, "task": self.per_task, "example": self.per_example}[scope]
        if limit is None or used + needed <= limit:
            return
        left = max(limit - used, 0)
        money = self.currency
        of = {"total": "in total", "task": "per task", "example": "per example"}[scope]
        raise BudgetExceeded(
            f"the next purchase needs {amount_text(needed, money)}{whose} and "
            f"{amount_text(left, money)} is left of the {amount_text(limit, money)} allowed {of} "
            f"({amount_text(used, money)} spent or reserved). Nothing of it was bought, what was "
            "bought before is kept: raise the budget and go on to pay only for the rest.",
            needed=to_units(needed),
            left=to_units(left),
            scope=scope,
        )

    def check_examples(
        self, costs: Ints, used: Ints, whose: Callable[[int], str] = lambda row: f"{row}"
    ) -> None:
        """The same of what is spent on each example: of those that cost now, the most expensive."""
        if self.per_example is not None and len(costs):
            worst = int(np.argmax(np.where(costs > 0, used + costs, -1)))
            on = f" on example {whose(worst)}"
            self.check("example", int(costs[worst]), int(used[worst]), on)


@dataclass(frozen=True)
class Budget:
    """Limits on spending, in the currency of the price list.

    Parameters
    ----------
    total : None, number or str
        the most this lifetime may spend
    per_task : None, number or str
        the most one task may spend
    per_example : None, number or str
        the most that may be spent on one example: over the whole lifetime where examples have ids,
        within one task where they are the rows of an array

    Raises
    ------
    thrifty.errors.BadInput
        an amount that is no number of 0 or more
    thrifty.errors.MixedCurrencies
        limits in two currencies

    See Also
    --------
    thrifty.PriceList : what is paid
    thrifty.errors.BudgetExceeded : what a spent budget raises

    Notes
    -----
    Amounts are numbers, or text with a currency such as ``"250 EUR"``.

    Examples
    --------
    >>> Budget(total="250 EUR", per_example=20)
    Budget(total='250 EUR', per_task=None, per_example=20)
    """

    total: MoneyLike = None
    per_task: MoneyLike = None
    per_example: MoneyLike = None

    def __post_init__(self) -> None:
        self.limits("")

    @classmethod
    def of(cls, given: Budget | MoneyLike) -> Budget | None:
        """A budget as users bring it: an amount alone is the most in total."""
        return given if given is None or isinstance(given, Budget) else cls(total=given)

    def limits(self, currency: str) -> Limits:
        """The budget in minor units; refuses another currency than the price list's."""
        given = {"total": self.total, "per_task": self.per_task, "per_example": self.per_example}
        read = {k: read_amount(v, f"budget ({k})") for k, v in given.items() if v is not None}
        mine = one_currency({label for _, label in read.values()}, "a budget")
        if mine and currency and mine != currency:
            raise MixedCurrencies(
                f"the budget is in {mine} and the price list in {currency}; they must be in one "
                "currency. Thrifty does not convert money: convert one of them first."
            )
        return Limits(**{k: v for k, (v, _) in read.items()}, currency=currency or mine)


_SHARE = re.compile(r"^\s*([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})\s*%\s*$")


def read_spend(
    given: object, currency: str, everything: Callable[[], float], what: str = "spend"
) -> float | None:
    """An amount in the unit of the prices, from a number, text with a currency, or a share.

    ``everything`` says what all there is to buy would cost; it is asked only for a share.

    >>> read_spend("300 EUR", "EUR", lambda: 0.0), read_spend("5 %", "", lambda: 40.0)
    (300.0, 2.0)
    """
    if given is None:
        return None
    share = _SHARE.match(given) if isinstance(given, str) else None
    if share is not None:
        percent = float(share.group(1))
        if not 0 <= percent <= 100:
            raise BadInput(f"{what} must be a share of 0 % to 100 %; got {given!r}.")
        return everything() * percent / 100
    try:
        minor, label = read_amount(given, what)
    except BadInput as error:
        raise BadInput(
            f"{what} must be a number in the unit of the prices, text such as '300 EUR', or a "
            f"share such as '5 %'; got {given!r}."
        ) from error
    if label and label != currency:
        unit = f"the prices are in {currency}" if currency else "the prices have no currency"
        raise MixedCurrencies(
            f"{what} is in {label} and {unit}; they must be in one currency. Thrifty does not "
            "convert money: convert it first."
        )
    return to_units(minor)


def limits_of(limits: Limits, spend: float | None, *, is_task: bool) -> Limits:
    """The budget's limits with those of one task; a prediction has no per-task limit but its own.

    >>> limits_of(Limits(per_task=5_000_000), 3.0, is_task=True).per_task
    3000000
    """
    own = None if spend is None else read_amount(spend, "spend")[0]
    before = limits.per_task if is_task else None
    return replace(limits, per_task=smallest(own, before))


def smallest(*amounts: int | None) -> int | None:
    """The smallest amount that is one; None where there is no limit at all."""
    return min((a for a in amounts if a is not None), default=None)


# -- what a language model costs: so much per million tokens read, written, or read from a cache


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
