"""Questions to a language model as a prompt, and its reply as values: both pure functions."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from thrifty.errors import BadInput, MalformedAnswer

__all__ = [
    "INSTRUCTIONS",
    "YES_NO",
    "Question",
    "content_key",
    "prompt_for",
    "prompt_hash",
    "read_questions",
    "read_reply",
    "token_confidence",
]

#: the answers to a question that is not given any others
YES_NO = ("no", "yes", "unknown")

INSTRUCTIONS = (
    "Answer questions about a text. Reply with one JSON object and nothing else: a key for each "
    'question, as it is numbered, and its answer. Answer "unknown" where the text does not say.'
)
#: tokens of a number as an answer, with the number of its question
_LONGEST_NUMBER = 16
_SURE = 'Write each answer as {"answer": ..., "confidence": a number from 0 to 1}.'


@dataclass(frozen=True)
class Question:
    """One question about a text.

    Parameters
    ----------
    text : str
        as it is put to the model
    answers : str or list
        ``"yes/no"``, ``"number"``, or a list of categories. "unknown" is an answer as well: a
        category of its own, and a gap where a number was asked
    longest : int
        tokens of the longest answer with its number, for the reservation; by default 16 for a
        number, and for categories what the longest of them takes
    answerers : sequence of callable
        several who answer it, each a feature with its own price, for instance two ``ChatServer``
        with ``rates``; they are alternatives of each other (:class:`thrifty.PriceList`). None: the
        bank's own

    >>> Question("Is the patient feverish?").categories
    ('no', 'yes', 'unknown')
    """

    text: str
    answers: str | Sequence[str] = "yes/no"
    longest: int = 0
    answerers: Sequence[Callable[..., object]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise BadInput(f"a question is a text; got {self.text!r}.")
        if not isinstance(self.longest, int) or self.longest < 0:
            raise BadInput(f"longest must be a number of tokens, 1 or more; got {self.longest!r}.")
        if isinstance(self.answers, str):
            if self.answers not in ("yes/no", "number"):
                raise BadInput(
                    f"answers must be 'yes/no', 'number' or a list of categories; got "
                    f"{self.answers!r}."
                )
        else:
            listed = tuple(str(a) for a in self.answers)
            if len(listed) < 2 or len(set(listed)) != len(listed):
                raise BadInput(f"a question needs two or more distinct categories; got {listed!r}.")
            object.__setattr__(self, "answers", listed)
        if self.longest == 0:
            object.__setattr__(self, "longest", self._longest())
        self._check_answerers()

    def _check_answerers(self) -> None:
        several = self.answerers
        if isinstance(several, str) or not isinstance(several, Sequence) or len(several) == 1:
            raise BadInput(
                "answerers must list two or more who answer, for instance [ChatServer('small', "
                f"...), ChatServer('large', ...)]; got {several!r}."
            )
        odd = next((one for one in several if not callable(one)), None)
        if odd is not None:
            raise BadInput(f"an answerer is a function or a ChatServer; got {type(odd).__name__}.")
        object.__setattr__(self, "answerers", tuple(several))

    def _longest(self) -> int:
        """A category in quotes, after its number: a token for two bytes is more than any takes."""
        if self.categories is None:
            return _LONGEST_NUMBER
        return 4 + max(-(-len(c.encode()) // 2) for c in self.categories)

    @property
    def categories(self) -> tuple[str, ...] | None:
        """The categories of an answer; None for a number."""
        if self.answers == "number":
            return None
        if self.answers == "yes/no":
            return YES_NO
        listed = tuple(self.answers)
        return listed if "unknown" in listed else (*listed, "unknown")

    @property
    def form(self) -> str:
        """How it may be answered, as the model is told."""
        return _form(self.categories)


@lru_cache(maxsize=256)  # for every text that is asked about
def _form(categories: tuple[str, ...] | None) -> str:
    if categories is None:
        return "a number"
    return "one of " + ", ".join(json.dumps(c) for c in categories)


#: questions as texts, or by the names of their features
QuestionsLike: TypeAlias = Sequence[str | Question] | Mapping[str, str | Question]


def read_questions(given: QuestionsLike) -> dict[str, Question]:
    """Questions by the names of their features: a question given without one is its own name."""
    if isinstance(given, Mapping):
        pairs = [(str(name), q) for name, q in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, str):
        pairs = [(q.text if isinstance(q, Question) else str(q), q) for q in given]
    else:
        raise BadInput(
            "questions must be a list of texts or a mapping {name: text or Question}; got "
            f"{type(given).__name__}."
        )
    out: dict[str, Question] = {}
    for name, question in pairs:
        if name in out:
            raise BadInput(f"the question {name!r} is there twice.")
        out[name] = question if isinstance(question, Question) else Question(question)
    if not out:
        raise BadInput("there must be at least one question.")
    return out


def prompt_for(text: str, questions: Sequence[Question], *, confidence: bool = False) -> str:
    """The prompt: the text first, so that providers can keep it in their cache, then the questions.

    >>> print(prompt_for("He is 45.", [Question("How old is he?", "number")]))  # doctest: +ELLIPSIS
    Answer questions about a text...
    <text>
    He is 45.
    </text>
    1. How old is he? (a number)
    """
    head = INSTRUCTIONS + (" " + _SURE if confidence else "")
    asked = "\n".join(f"{i}. {q.text} ({q.form})" for i, q in enumerate(questions, 1))
    return f"{head}\n<text>\n{text}\n</text>\n{asked}"


def prompt_hash(
    questions: Mapping[str, Question], *, confidence: bool, tokens: bool = False
) -> str:
    """A hash of the instructions, and of the questions that are known by a name of their own."""
    named = [(name, q.text, q.form) for name, q in questions.items() if name != q.text]
    forms = [(q.text, q.form) for q in questions.values() if q.answers != "yes/no"]
    sure = _SURE if confidence else "log-probabilities" if tokens else ""
    said = json.dumps([INSTRUCTIONS, sure, named, sorted(forms)])
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def content_key(text: str, id: object = None) -> str:
    """An example by its content: an edited text is another example.

    >>> content_key("a") == content_key("a"), content_key("a") == content_key("b")
    (True, False)
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return digest if id is None else f"{id} {digest}"


def read_reply(
    reply: str, questions: Sequence[Question], *, confidence: bool = False
) -> list[float]:
    """The values of a reply, one per question (and one more for its confidence, if asked).

    A category becomes its place; "unknown" is a gap where a number was asked. Whatever is not an
    answer to the questions that were asked is a :class:`~thrifty.errors.MalformedAnswer`.

    >>> read_reply('{"1": 45, "2": "yes"}', [Question("Age?", "number"), Question("Ill?")])
    [45.0, 1.0]
    """
    body = reply.strip()
    if body.startswith("```"):  # models like to wrap it
        body = body.strip("`").removeprefix("json").strip()
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        said = "the model must reply with one JSON object; it wrote text."
        raise MalformedAnswer(said) from error
    if not isinstance(found, dict):
        raise MalformedAnswer(
            f"the model must reply with one JSON object; it wrote a {type(found).__name__}."
        )
    asked = [str(i) for i in range(1, len(questions) + 1)]
    if sorted(found) != sorted(asked):
        lacking = [a for a in asked if a not in found]
        extra = sorted(set(found) - set(asked))[:3]
        raise MalformedAnswer(
            f"the model was asked {len(asked)} questions; it did not answer {lacking or 'none'} of "
            f"them and answered {extra or 'no'} other(s)."
        )
    values: list[float] = []
    for key, question in zip(asked, questions):
        answer, sure = found[key], None
        if confidence:
            if not isinstance(answer, dict) or not {"answer", "confidence"} <= set(answer):
                raise MalformedAnswer(f"question {key} came without its confidence.")
            answer, sure = answer["answer"], answer["confidence"]
        values.append(_value(answer, question, key))
        if confidence:
            values.append(_confidence(sure, key))
    return values


def token_confidence(
    text: str, tokens: Sequence[tuple[str, float]], n_questions: int
) -> list[float]:
    """How likely the model was to write each answer: the product over the answer's tokens.

    NaN where tokens and text do not fit together.

    >>> tokens = [('{"1": "', -0.1), ("yes", -0.5), ('"}', 0.0)]
    >>> [round(p, 3) for p in token_confidence('{"1": "yes"}', tokens, 1)]
    [0.607]
    """
    out = [math.nan] * n_questions
    if "".join(token for token, _ in tokens) != text:
        return out
    ends: list[int] = []
    for token, _ in tokens:
        ends.append((ends[-1] if ends else 0) + len(token))
    for i in range(n_questions):
        found = re.search(rf'"{i + 1}"\s*:\s*("[^"]*"|[^,}}\s]+)', text)
        if found is None:
            continue
        start, end = found.span(1)
        if text[start] == '"':  # the quotes are no part of the answer
            start, end = start + 1, end - 1
        logs = [
            log
            for (token, log), stop in zip(tokens, ends)
            if stop > start and stop - len(token) < end
        ]
        if logs:
            out[i] = min(1.0, math.exp(sum(logs)))
    return out


def _value(answer: Any, question: Question, key: str) -> float:
    if question.categories is None:
        if isinstance(answer, str) and answer.strip().lower() == "unknown":
            return math.nan
        try:
            number = float(answer) if not isinstance(answer, bool) else math.inf
        except (TypeError, ValueError):
            number = math.inf
        if not math.isfinite(number):
            raise MalformedAnswer(f"question {key} must be answered with a number or 'unknown'.")
        return number
    if isinstance(answer, bool):
        answer = "yes" if answer else "no"
    words = {c.lower(): float(i) for i, c in enumerate(question.categories)}
    said = str(answer).strip().lower()
    if said not in words:
        raise MalformedAnswer(f"question {key} must be answered with {question.form}.")
    return words[said]


def _confidence(given: object, key: str) -> float:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if isinstance(given, int | float) and number and 0 <= given <= 1:
        return float(given)
    raise MalformedAnswer(f"the confidence of question {key} must lie between 0 and 1.")
