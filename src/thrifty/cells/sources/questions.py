"""Cells from questions put to a language model about texts.

A text is an example, known by its content; a question is a feature. All the questions that are
wanted of a text go in one prompt: the tokens of the text are paid per call, a question is the
margin. What the call really cost, by the tokens that the provider counted, is what is booked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from thrifty.cells.prices.money import UNIT, amount_text, to_units
from thrifty.cells.prices.price_list import PriceList
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.prices.tokens import Rates, estimated_tokens
from thrifty.cells.sources.answered import Answered
from thrifty.cells.sources.callable import CallableSource, CallLimits
from thrifty.cells.sources.prompts import (
    Question,
    QuestionsLike,
    content_key,
    prompt_for,
    prompt_hash,
    read_questions,
    read_reply,
)
from thrifty.errors import BadInput, MalformedAnswer

__all__ = ["DryRun", "QuestionSource", "Reply"]

#: tokens around the questions: braces, keys, what a chat adds
_AROUND = 24

#: seconds until a batch has ended by itself, whatever became of it: providers promise a day
_BATCH_WINDOW = 90_000.0


@dataclass(frozen=True)
class Reply:
    """What a model wrote, and the tokens that were counted; None: not said."""

    text: str
    read: int | None = None
    written: int | None = None
    cached: int = 0
    #: the model that answered, as it calls itself
    model: str = ""


@dataclass(frozen=True)
class DryRun:
    """What would be asked and what it would cost at most; nobody is called."""

    prompts: tuple[str, ...]
    calls: int
    price: float
    currency: str

    def __str__(self) -> str:
        shown = "\n\n".join(self.prompts)
        price = f"{self.price:g} {self.currency}".strip()
        return f"{shown}\n\n{self.calls} calls, at most {price}; nobody was called"


#: texts in order, or by an id
TextsLike: TypeAlias = Iterable[str] | Mapping[str, str]


class QuestionSource(CallableSource):
    """Texts x questions; made by :meth:`Source.from_questions`."""

    def __init__(
        self,
        texts: TextsLike,
        questions: QuestionsLike,
        ask: Callable[[str], object],
        *,
        rates: Rates | None = None,
        model: str | None = None,
        version: str = "",
        confidence: bool = False,
        batch: bool = False,
        tokens: Callable[[str], int] = estimated_tokens,
        again: int = 2,
        name: str | None = None,
        **limits: Any,
    ) -> None:
        self.questions = read_questions(questions)
        self.confidence, self._tokens, self._ask = confidence, tokens, ask
        ids, self._texts = _by_content(texts)
        model = model or str(getattr(ask, "model", "") or getattr(ask, "__name__", "model"))
        self.model = model
        rates = rates if rates is not None else getattr(ask, "rates", None)
        if rates is None:
            raise BadInput(
                "the model's prices are missing: give rates=thrifty.Rates(input, output)."
            )
        self.rates = rates.in_batch() if batch else rates
        if batch and hasattr(ask, "in_batches"):
            self._ask = ask.in_batches()
        features: list[str] = []
        kinds: dict[str, str | Sequence[str]] = {}
        for key, question in self.questions.items():
            features.append(key)
            kinds[key] = question.categories or "number"
            if confidence:
                features.append(self._sure(key))
                kinds[self._sure(key)] = "number"
        own = f"{name + ' ' if name else ''}{model}{'@' + version if version else ''}"
        patience = {"timeout": _BATCH_WINDOW} if batch else {}
        chosen = CallLimits(**{"concurrency": 8, "again": again, **patience, **limits})
        # A prompt is about one text, so that each is a purchase of its own: what was answered is
        # settled and what was refused is refused, text by text.
        chosen = replace(chosen, max_examples=1)
        super().__init__(
            self._answer,
            examples=ids,
            features=features,
            prices=self._price_list(),
            kinds=kinds,
            boolean=False,
            allow_missing=True,
            limits=chosen,
            name=f"{own} {prompt_hash(self.questions, confidence=confidence)}",
        )
        self.per_call = np.array([self._call_price(t) for t in self._texts.values()], np.int64)

    @staticmethod
    def _sure(name: str) -> str:
        return f"{name} (confidence)"

    # -- what it costs ------------------------------------------------------------------------

    def _price_list(self) -> PriceList:
        margin = {k: to_units(self._margin(q)) for k, q in self.questions.items()}
        currency = self.rates.currency
        if not self.confidence:
            return PriceList(margin, currency=currency)
        orders = {k: (price, [k, self._sure(k)]) for k, price in margin.items()}
        return PriceList(None, orders=orders, currency=currency)

    def _margin(self, question: Question) -> int:
        asked = self._tokens(f"00. {question.text} ({question.form})\n")
        written = question.longest + (12 if self.confidence else 0)
        return self.rates.cost(asked, written)

    def _call_price(self, text: str) -> int:
        head = self._tokens(prompt_for(text, [], confidence=self.confidence))
        return self.rates.cost(head + _AROUND, _AROUND)

    def tariff(self, prices: PriceList) -> Tariff:
        """Questions at their margins, and what a call costs for each text."""
        return replace(super().tariff(prices), per_call=self.per_call)

    def connected(self) -> AbstractAsyncContextManager[None]:
        """A server may keep its connections while questions are put to it."""
        connected = getattr(self._ask, "connected", None)
        return super().connected() if connected is None else connected()

    # -- asking -------------------------------------------------------------------------------

    def _asked(self, features: Sequence[str]) -> list[str]:
        """The questions behind some features, in their own order."""
        wanted = set(features)
        return [k for k in self.questions if k in wanted or self._sure(k) in wanted]

    def prompt(self, example: str, features: Sequence[str]) -> str:
        """What the model is asked about one text."""
        asked = [self.questions[k] for k in self._asked(features)]
        return prompt_for(self._texts[example], asked, confidence=self.confidence)

    async def _answer(self, ids: Sequence[object], names: Sequence[str]) -> Answered:
        """One prompt for one text; a reply that is no answer is billed like one that is."""
        import inspect

        (example,) = ids
        asked = self._asked(names)
        questions = [self.questions[k] for k in asked]
        longest = sum(q.longest + (12 if self.confidence else 0) for q in questions) + _AROUND
        prompt = self.prompt(str(example), names)
        takes = {"longest": longest} if getattr(self._ask, "takes_longest", False) else {}
        said = self._ask(prompt, **takes)
        if inspect.isawaitable(said):
            said = await said
        reply = said if isinstance(said, Reply) else Reply(str(said))
        read = self._tokens(prompt) if reply.read is None else reply.read
        written = self._tokens(reply.text) if reply.written is None else reply.written
        cost = Decimal(self.rates.cost(read, written, reply.cached)) / UNIT
        try:
            values = read_reply(reply.text, questions, confidence=self.confidence)
        except MalformedAnswer as error:
            return Answered(error, cost=cost)
        step = 2 if self.confidence else 1
        by_name: dict[str, object] = dict(zip(asked, map(_word, questions, values[::step])))
        if self.confidence:
            by_name.update(zip(map(self._sure, asked), values[1::2]))
        return Answered([[by_name[n] for n in names]], cost=cost)

    def dry_run(self, features: Sequence[str] | None = None, show: int = 2) -> DryRun:
        """The prompts of the first texts, and what asking all of them would cost at most.

        >>> from thrifty import Rates, Source
        >>> bank = Source.from_questions(["It rained."], ["Did it rain?"], ask=print,
        ...                              rates=Rates("0.15 USD", "0.60 USD"))
        >>> print(bank.dry_run().calls, bank.dry_run().currency)
        1 USD
        """
        wanted = list(features) if features is not None else list(self.questions)
        unknown = [f for f in wanted if f not in self.feature_names]
        if unknown:
            raise BadInput(f"there is no question {unknown[0]!r}.")
        margins = sum(self._margin(self.questions[k]) for k in self._asked(wanted))
        price = sum(int(c) + margins for c in self.per_call)
        prompts = tuple(self.prompt(e, wanted) for e in self.examples[:show])
        return DryRun(prompts, len(self.examples), to_units(price), self.rates.currency)

    def __repr__(self) -> str:
        most = amount_text(int(self.per_call.max()), self.rates.currency)
        return (
            f"QuestionSource({self.n_examples} texts x {len(self.questions)} questions to "
            f"{self.model}; a call up to {most})"
        )


def _word(question: Question, value: float) -> object:
    """An answer as it is given: a category by its word."""
    return value if question.categories is None else question.categories[int(value)]


def _by_content(texts: TextsLike) -> tuple[list[str], dict[str, str]]:
    """Texts by their content, in their order; ids where the user gave some."""
    if isinstance(texts, str):
        raise BadInput("texts must be a list of texts or a mapping {id: text}; got one text.")
    pairs: Iterable[tuple[object, object]]
    pairs = texts.items() if isinstance(texts, Mapping) else ((None, text) for text in texts)
    out: dict[str, str] = {}
    for id, text in pairs:
        if not isinstance(text, str):
            raise BadInput(f"a text must be text; got {type(text).__name__}.")
        key = content_key(text, id)
        if key in out:
            raise BadInput(
                f"the text {text[:40]!r} is there twice. Leave one out, or give texts as "
                "{id: text} to keep both: each id is then an example."
            )
        out[key] = text
    return list(out), out
