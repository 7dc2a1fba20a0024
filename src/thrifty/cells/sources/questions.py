"""Cells from questions put to a language model about texts.

A text is an example, known by its content; a question is a feature. All the questions that are
wanted of a text go in one prompt: the tokens of the text are paid per call, a question is the
margin. What the call really cost, by the tokens that the provider counted, is what is booked.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias, cast

import numpy as np

from thrifty.cells.prices.money import (
    UNIT,
    Rates,
    amount_text,
    estimated_tokens,
    one_currency,
    to_units,
)
from thrifty.cells.prices.price_list import PriceList
from thrifty.cells.prices.tariff import Tariff
from thrifty.cells.sources.answered import Answered
from thrifty.cells.sources.callable import CallableSource, CallLimits, LooksUp
from thrifty.cells.sources.prompts import (
    Question,
    QuestionsLike,
    content_key,
    old_prompt_hash,
    prompt_for,
    read_questions,
    read_reply,
    token_confidence,
)
from thrifty.checks import warn_user
from thrifty.errors import BadInput, MalformedAnswer
from thrifty.typing import Ints, Numbers

#: tokens around the questions: braces, keys, what a chat adds
_AROUND = 24
#: tokens for the thoughts of a model that turns out to have some, before it is known how many
_GUESS = 2000
#: of the feature that holds how sure an answer is
CONFIDENCE = " (confidence)"


@dataclass(frozen=True)
class Reply:
    """What a model wrote, and the tokens that were counted; None: not said.

    See Also
    --------
    thrifty.ChatServer : what gives it

    Examples
    --------
    >>> Reply("yes", read=120, written=2).written
    2
    """

    text: str
    read: int | None = None
    written: int | None = None
    cached: int = 0
    #: the model that answered, as it calls itself
    model: str = ""
    #: what was written token by token, with its log-probabilities; None: not said
    tokens: tuple[tuple[str, float], ...] | None = None
    #: why it ended, "length" where it was cut off; and what was said instead of an answer
    ended: str = ""
    refusal: str = ""


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


_Ask = Callable[..., object]


@dataclass(frozen=True, eq=False)
class _Answerer:
    """Who answers some of the questions, and what that costs."""

    #: as the user gave it; what is called may be its batch interface
    given: object
    ask: _Ask
    model: str
    rates: Rates


def called(answerer: object) -> str:
    """The name of a model or of a function that answers."""
    return str(getattr(answerer, "model", "") or getattr(answerer, "__name__", "model"))


#: texts in order, or by an id
TextsLike: TypeAlias = Iterable[str] | Mapping[str, str]


class QuestionSource(CallableSource):
    """Texts x questions; made by :meth:`thrifty.Source.from_questions`."""

    def __init__(
        self,
        texts: TextsLike,
        questions: QuestionsLike,
        ask: _Ask | None,
        *,
        rates: Rates | None = None,
        model: str | None = None,
        version: str = "",
        confidence: bool | str = False,
        batch: bool = False,
        tokens: Callable[[str], int] = estimated_tokens,
        again: int = 2,
        name: str | None = None,
        **limits: Any,
    ) -> None:
        if confidence not in (False, True, "tokens"):
            raise BadInput(
                "confidence must be False, True (the model is asked for it) or 'tokens' (from "
                f"log-probabilities of the server's tokens); got {confidence!r}."
            )
        self._answerers: list[_Answerer] = []
        self.questions: dict[str, Question] = {}
        #: who answers each question, and which are the same one
        self._who: dict[str, int] = {}
        self._same: dict[str, list[str]] = {}
        for key, question in read_questions(questions).items():
            self._take(key, question, ask, model, rates, batch)
        self.confidence, self._from_tokens = confidence is True, confidence == "tokens"
        self._tokens, self._told, self._told_thoughts = tokens, False, False
        ids, self._texts = _by_content(texts)
        self.model = " and ".join(dict.fromkeys(one.model for one in self._answerers))
        self.rates = self._answerers[0].rates
        one_currency({one.rates.currency for one in self._answerers}, "answerers")
        kinds: dict[str, str | Sequence[str]] = {}
        for key, question in self.questions.items():
            kinds[key] = question.categories or "number"
            if self._with_confidence:
                kinds[self._sure(key)] = "number"

        def kept(models: str, asked: Mapping[str, Question]) -> str:
            hashed = old_prompt_hash(asked, confidence=self.confidence, tokens=self._from_tokens)
            whose = f"{models}{'@' + version if version else ''}"
            return f"{name + ' ' if name else ''}{whose} {hashed}"

        #: under which name a store keeps what each of them answers, and what 0.2 called all of it
        self._kept = [kept(one.model, {}) for one in self._answerers]
        self._before = kept(self.model, self.questions)
        # a batch has ended by itself then, whatever became of it: providers promise a day
        patience = {"timeout": 90_000.0} if batch else {}
        chosen = CallLimits(**{"concurrency": 8, "again": again, **patience, **limits})
        # A prompt is about one text, so that each is a purchase of its own: what was answered is
        # settled and what was refused is refused, text by text.
        chosen = replace(chosen, max_examples=1)
        super().__init__(
            self._answer,
            examples=ids,
            features=list(kinds),
            prices=self._price_list(),
            kinds=kinds,
            boolean=False,
            allow_missing=True,
            limits=chosen,
            name=kept(" and ".join(sorted({one.model for one in self._answerers})), {}),
        )
        #: tokens for thoughts that the price of a call has room for; whether they are a guess
        self._room, self._guessed = self._thoughts(self._cheapest), False
        self.per_call = self._heads(self._cheapest)
        #: replies that were paid for and came before there was room for them
        self._answered: dict[tuple[str, tuple[str, ...]], Answered] = {}

    def _take(
        self,
        key: str,
        question: Question,
        ask: _Ask | None,
        model: str | None,
        rates: Rates | None,
        batch: bool,
    ) -> None:
        """A feature for a question, and for each of its answerers where it has several."""
        if ask is None and not question.answerers:
            raise BadInput(f"nobody is asked {key!r}: give ask=, or the question's answerers=.")
        several = [self._number(one, None, None, batch) for one in question.answerers]
        named = [f"{key} by {self._answerers[k].model}" for k in several]
        if len(set(named)) < len(named):
            raise BadInput(
                f"two answerers of {key!r} have the same name; give each a model= of its own."
            )
        if several:
            self._same[key] = named
        elif ask is not None:
            several, named = [self._number(ask, model, rates, batch)], [key]
        for feature, who in zip(named, several):
            if feature in self.questions:
                raise BadInput(f"the question {feature!r} is there twice.")
            for one, other in self.questions.items():
                if other.wording == question.wording and self._who[one] == who:
                    raise BadInput(
                        f"{feature!r} and {one!r} are the same question to the same answerer: "
                        "leave one of them out."
                    )
            self.questions[feature], self._who[feature] = question, who

    def _number(self, ask: _Ask, model: str | None, rates: Rates | None, batch: bool) -> int:
        """Which of the answerers it is; one that was not there comes after them."""
        for k, one in enumerate(self._answerers):
            if one.given is ask:
                return k
        model, address = model or called(ask), getattr(ask, "base_url", None)
        rates = rates if rates is not None else getattr(ask, "rates", None)
        if rates is None and address is None:
            raise BadInput(
                f"the prices of {model!r} are missing: give rates=thrifty.Rates(input, output)."
            )
        rates = Rates.of(model, address) if rates is None else rates
        in_batches = getattr(ask, "in_batches", None) if batch else None
        asked = ask if in_batches is None else in_batches()
        rates = rates.in_batch() if batch else rates
        self._answerers.append(_Answerer(ask, asked, model, rates))
        return len(self._answerers) - 1

    @property
    def _with_confidence(self) -> bool:
        return self.confidence or self._from_tokens

    @staticmethod
    def _sure(name: str) -> str:
        return name + CONFIDENCE

    # -- what a store calls them --------------------------------------------------------------

    def stored_name(self, feature: int) -> str:
        """An answer belongs to the question as it is worded, whatever it is called here."""
        name = self.feature_names[feature]
        sure = name not in self.questions
        question = self.questions[name.removesuffix(CONFIDENCE) if sure else name]
        return self._sure(question.wording) if sure else question.wording

    def stored_source(self, feature: int) -> str:
        """And to who gave it, whoever else is in the list."""
        return self._kept[self._who[self.feature_names[feature].removesuffix(CONFIDENCE)]]

    def numbered(self, look: LooksUp, features: Sequence[int]) -> Numbers:
        """Of each answerer by itself."""
        out = np.full(len(features), -1, dtype=np.int32)
        sources = np.array([self.stored_source(f) for f in features])
        for source in dict.fromkeys(sources.tolist()):
            at = np.flatnonzero(sources == source).tolist()
            out[at] = look("feature", [self.stored_name(features[i]) for i in at], source)
        return out

    def formerly(self) -> tuple[str, Sequence[str]]:
        """0.2 kept answers under a hash of the whole list, by the names of the features."""
        return self._before, self.feature_names

    # -- what it costs ------------------------------------------------------------------------

    def _price_list(self) -> PriceList:
        margin = {k: to_units(self._margin(k)) for k in self.questions}
        currency = self.rates.currency
        if not self._with_confidence:
            return PriceList(margin, currency=currency, alternatives=self._same)
        orders = {k: (price, [k, self._sure(k)]) for k, price in margin.items()}
        return PriceList(None, orders=orders, currency=currency)

    def _margin(self, feature: str) -> int:
        """What a question adds to a call; a call of its own to an expensive answerer is in it."""
        question, who = self.questions[feature], self._who[feature]
        rates = self._answerers[who].rates
        asked = self._tokens(f"00. {question.text} ({question.form})\n")
        written = question.longest + (12 if self.confidence else 0)
        call = 0 if who == self._cheapest else int(self._heads(who).max())
        return rates.cost(asked, written) + call

    @property
    def _cheapest(self) -> int:
        """Whose calls are the cheapest."""
        heads = [one.rates.cost(1000, _AROUND) for one in self._answerers]
        return heads.index(min(heads))

    def _heads(self, who: int) -> Ints:
        """What a call to somebody costs for each text, before any question."""
        rates = self._answerers[who].rates
        heads = [
            self._tokens(prompt_for(text, [], confidence=self.confidence))
            for text in self._texts.values()
        ]
        written = _AROUND + self._thoughts(who)
        return np.array([rates.cost(head + _AROUND, written) for head in heads], np.int64)

    def _thoughts(self, who: int) -> int:
        """Tokens that somebody may think in each call, as far as it is known by now."""
        return int(getattr(self._answerers[who].given, "reasoning", 0))

    def _keep_up(self) -> None:
        """The price of a call with the thoughts that are known by now, in every tariff of ours."""
        if (room := self._thoughts(self._cheapest)) != self._room:
            rates, self._room, before = self.rates, room, self._room
            self.per_call += rates.cost(0, _AROUND + room) - rates.cost(0, _AROUND + before)

    def of_rows(self, rows: Ints) -> QuestionSource:
        some = cast(QuestionSource, super().of_rows(rows))
        some.per_call = self.per_call[rows]
        some.fn = some._answer  # what it learns of its server is reserved by itself
        return some

    def tariff(self, prices: PriceList) -> Tariff:
        """Questions at their margins, and what a call costs for each text."""
        self._keep_up()
        who = None
        if len(self._answerers) > 1:
            named = [n.removesuffix(CONFIDENCE) for n in self.feature_names]
            who = np.array([self._who[n] for n in named], dtype=np.int64)
        return replace(
            super().tariff(prices), per_call=self.per_call, asker=who, caller=self._cheapest
        )

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Servers may keep their connections while questions are put to them."""
        async with AsyncExitStack() as stack:
            for one in self._answerers:
                connected = getattr(one.ask, "connected", None)
                if connected is not None:
                    await stack.enter_async_context(connected())
            yield

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

        (example,) = map(str, ids)
        if (example, tuple(names)) in self._answered:
            return self._answered.pop((example, tuple(names)))
        asked = self._asked(names)
        (who,) = {self._who[k] for k in asked}  # a call is to one of them
        answerer = self._answerers[who]
        ask, rates = answerer.ask, answerer.rates
        questions = [self.questions[k] for k in asked]
        longest = sum(q.longest + (12 if self.confidence else 0) for q in questions) + _AROUND
        prompt = self.prompt(example, names)
        takes: dict[str, object] = {}
        if getattr(ask, "takes_longest", False):
            takes["longest"] = longest
        if self._from_tokens and getattr(ask, "takes_logprobs", False):
            takes["logprobs"] = True
        said = ask(prompt, **takes)
        if inspect.isawaitable(said):
            said = await said
        reply = said if isinstance(said, Reply) else Reply(str(said))
        read = self._tokens(prompt) if reply.read is None else reply.read
        written = self._tokens(reply.text) if reply.written is None else reply.written
        cost = Decimal(rates.cost(read, written, reply.cached)) / UNIT
        more = self._makes_room(who, reply, written, longest)
        try:
            values = read_reply(reply.text, questions, confidence=self.confidence)
        except MalformedAnswer as error:
            return Answered(_why(reply, error), cost=cost)
        step = 2 if self.confidence else 1
        by_name: dict[str, object] = dict(zip(asked, map(_word, questions, values[::step])))
        if self.confidence:
            by_name.update(zip(map(self._sure, asked), values[1::2]))
        if self._from_tokens:
            by_name.update(zip(map(self._sure, asked), self._confidences(reply, len(asked))))
        table = [[by_name[n] for n in names]]
        if more:  # billed now, and used when it is asked for again, which is not billed
            self._answered[example, tuple(names)] = Answered(table, cost=0)
            return Answered(MalformedAnswer("it took more tokens than were reserved"), cost=cost)
        return Answered(table, cost=cost)

    def _makes_room(self, who: int, reply: Reply, written: int, longest: int) -> bool:
        """Reserve for thoughts that nobody spoke of, from the next call on; said once.

        True where this reply was billed beyond what was reserved and may be asked for once more.
        """
        server, room = self._answerers[who].given, self._thoughts(who)
        learns = getattr(server, "max_tokens", None) == "auto" and who == self._cheapest
        cut_off = learns and reply.ended == "length" and not reply.refusal
        needed = max(-(-3 * (written - longest) // 200) * 100, 100)  # half as much again
        if written <= longest + room and not cut_off:
            if self._guessed and learns:
                self._reserve(server, needed)
            self._guessed = False
            return False
        if cut_off:
            self._guessed, needed = True, max(_GUESS, 2 * room)
        if not self._told_thoughts:
            self._told_thoughts = True
            ended = "was cut off after" if cut_off else "took"
            then = (
                f"{needed} more are reserved for each call from now on; "
                "ChatServer(reasoning=...) says it beforehand"
                if learns
                else f"ChatServer(reasoning={needed}) leaves room for it"
            )
            warn_user(
                f"a reply of {getattr(server, 'model', self.model)} {ended} {written} tokens where "
                f"{longest + room} were reserved: it seems to reason. {then}.",
                UserWarning,
            )
        if learns:
            self._reserve(server, needed)
        asks_again = self.limits.again > 0 or self.limits.on_failure == "gap"
        return learns and not cut_off and asks_again

    def _reserve(self, server: Any, tokens: int) -> None:
        """So many tokens for the thoughts of each call."""
        server.reasoning = tokens
        self._keep_up()

    def _confidences(self, reply: Reply, n: int) -> list[float]:
        """From log-probabilities; gaps where the server gives none, which is said once."""
        found = [math.nan] * n
        if reply.tokens is not None:
            found = token_confidence(reply.text, reply.tokens, n)
        if not self._told and all(map(math.isnan, found)):
            self._told = True
            warn_user(
                f"{self.model} gives no log-probabilities that fit its answers: confidences are "
                "gaps. Leave out confidence='tokens', or ask a server that gives them.",
                UserWarning,
            )
        return found

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
        margins = sum(self._margin(k) for k in self._asked(wanted))
        price = sum(int(c) + margins for c in self.per_call)
        prompts = tuple(self.prompt(e, wanted) for e in self.examples[:show])
        return DryRun(prompts, len(self.examples), to_units(price), self.rates.currency)

    def __repr__(self) -> str:
        most = amount_text(int(self.per_call.max()), self.rates.currency)
        return (
            f"QuestionSource({self.n_examples} texts x {len(self.questions)} questions to "
            f"{self.model}; a call up to {most})"
        )


def _why(reply: Reply, error: MalformedAnswer) -> MalformedAnswer:
    """What is wrong with a reply, where more is known than that it is no answer."""
    if reply.refusal:
        return MalformedAnswer(f"the model refused: {reply.refusal[:200]!r}.")
    if reply.ended == "length":
        return MalformedAnswer(
            "the reply was cut off before its end: give the question a larger longest=, or the "
            "server room for thoughts, ChatServer(reasoning=...)."
        )
    return error


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
