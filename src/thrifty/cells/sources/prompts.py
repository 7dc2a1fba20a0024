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

#: the answers to a question that is not given any others
YES_NO = ("no", "yes", "unknown")

INSTRUCTIONS = (
    "Answer questions about a text. Reply with one JSON object and nothing else: a key for each "
    'question, as it is numbered, and its answer. Answer "unknown" where the text does not say.'
)
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
        bank's own. As the question of an :class:`thrifty.Oracle` the last of them is the oracle
        and the others are its cascade

    Raises
    ------
    thrifty.errors.BadInput
        no text, fewer than two categories, or an answerer that cannot be called

    See Also
    --------
    thrifty.Source.from_questions : a bank of questions
    thrifty.ChatServer : who answers

    Examples
    --------
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
        """Of a number, or a category in quotes: a token for two bytes is more than any takes."""
        if self.categories is None:
            return 16
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

    @property
    def wording(self) -> str:
        """The question as it is put, with how it may be answered where that is not yes or no."""
        return self.text if self.answers == "yes/no" else f"{self.text} ({self.form})"


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


def old_prompt_hash(
    questions: Mapping[str, Question], *, confidence: bool, tokens: bool = False
) -> str:
    """A hash of the instructions, and of a list of questions: so 0.2 kept their answers."""
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

    Read as models write: a JSON object by itself, in a fence or among words, thoughts before it,
    numbered lines, or one bare answer to one question. A category becomes its place; "unknown" is a
    gap where a number was asked. Whatever is not an answer to the questions that were asked is a
    :class:`~thrifty.errors.MalformedAnswer`.

    >>> read_reply('{"1": 45, "2": "yes"}', [Question("Age?", "number"), Question("Ill?")])
    [45.0, 1.0]
    >>> read_reply("Yes, because he has a fever.", [Question("Ill?")])
    [1.0]
    """
    found = _answers_in(_THOUGHTS.sub("", reply).strip(), questions)
    asked = [str(i) for i in range(1, len(questions) + 1)]
    lacking = [a for a in asked if a not in found]
    extra = sorted(key for key in found if key not in asked)[:3]
    if lacking or extra:
        raise MalformedAnswer(
            f"the model was asked {len(asked)} questions; it did not answer {lacking or 'none'} of "
            f"them and answered {extra or 'no'} other(s)."
        )
    values: list[float] = []
    for key, question in zip(asked, questions):
        answer, sure = found[key], None
        if isinstance(answer, dict) and "answer" in answer:
            answer, sure = answer["answer"], answer.get("confidence")
        if confidence and sure is None:
            raise MalformedAnswer(f"question {key} came without its confidence.")
        values.append(_value(answer, question, key))
        if confidence:
            values.append(_confidence(sure, key))
    return values


#: what models that reason write before they answer
_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_NUMBERED = re.compile(r"^\s*[\"'*]*(\d{1,4})[\"'*]*\s*[.):]\s+(.+?)\s*$", re.MULTILINE)
_KEY = re.compile(r"^(?:q|question|answer)?\s*(\d{1,4})\s*[.):]?$", re.IGNORECASE)


def _answers_in(text: str, questions: Sequence[Question]) -> dict[str, Any]:
    """The answers of a reply by the numbers of their questions."""
    places = [m.group(1).strip() for m in _FENCE.finditer(text)] + [text]
    for place in places:
        found = _first_json(place)
        if isinstance(found, dict):
            return _by_number(found, questions)
        if isinstance(found, list) and place.startswith("["):
            return {str(i): answer for i, answer in enumerate(found, 1)}
    if not text:
        raise MalformedAnswer(
            "the model wrote nothing: it refused, or its thoughts took all the tokens there were. "
            "ChatServer(reasoning=...) leaves room for thoughts (docs/howto/language_models.md)."
        )
    lines: dict[str, Any] = dict(_NUMBERED.findall(text))
    if lines and len(questions) > 1:
        return lines
    if len(questions) == 1:
        return {"1": lines.get("1", text)}
    raise MalformedAnswer(f"the model must reply with one JSON object; it wrote {text[:80]!r}.")


def _first_json(text: str) -> Any:
    """The first JSON object or list in a text; None: there is none that can be read."""
    decoder = json.JSONDecoder()
    for at in [m.start() for m in re.finditer(r"[{\[]", text)][:20]:
        try:
            return decoder.raw_decode(text, at)[0]
        except (ValueError, RecursionError):
            continue
    return None


def _by_number(found: Mapping[str, Any], questions: Sequence[Question]) -> dict[str, Any]:
    """Answers by the numbers of their questions; what explains them is left out."""
    texts = {q.text.strip().casefold(): str(i) for i, q in enumerate(questions, 1)}
    out: dict[str, Any] = {}
    for key, answer in found.items():
        said = _KEY.match(key.strip())
        number = said.group(1).lstrip("0") if said else texts.get(key.strip().casefold())
        if number is None and len(questions) == 1 and key.casefold() == "answer":
            number = "1"
        if number is None:
            continue  # an explanation, a confidence that nobody asked for
        if number in out:
            raise MalformedAnswer(f"question {number} was answered twice.")
        out[number] = answer
    return out


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


#: words for "the text does not say"
_UNKNOWN = {
    "", "unknown", "n/a", "na", "none", "null", "not stated", "not mentioned", "not given",
    "not specified", "not available", "unclear", "cannot be determined", "can't be determined",
}  # fmt: skip
#: other words for the answers of a yes-or-no question
_YES_NO_WORDS = {"true": "yes", "y": "yes", "ja": "yes", "false": "no", "n": "no", "nein": "no"}
_NUMBER = re.compile(
    r"^[~≈]?\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?|[+-]?\.\d+)"
    r"\s*(?:[%°µ]?[a-zA-Zµ/²³%°]*\.?(?:\s[a-zA-Z/]+\.?)?)$"
)
#: what may follow a category: a reason, never another word of the answer itself
_REASON = re.compile(r"^\s*(?:[,.;:!(\n–—-]|because\b|since\b)", re.IGNORECASE)


def _value(answer: Any, question: Question, key: str) -> float:
    said = "" if answer is None else str(answer).strip().strip("\"'`*").strip()
    if question.categories is None:
        if said.rstrip(".!").casefold() in _UNKNOWN:
            return math.nan
        found = None if isinstance(answer, bool) else _NUMBER.match(said)
        number = float(found.group(1).replace(",", "")) if found else math.inf
        if not math.isfinite(number):
            raise MalformedAnswer(f"question {key} must be answered with a number or 'unknown'.")
        return number
    place = _category(said, question)
    if place is None:
        raise MalformedAnswer(
            f"question {key} must be answered with {question.form}; the model wrote {said[:60]!r}."
        )
    return float(place)


def _category(said: str, question: Question) -> int | None:
    """The place of the category that an answer is, whatever its case, punctuation and reasons."""
    assert question.categories is not None
    words = {c.casefold(): i for i, c in enumerate(question.categories)}
    low = said.casefold()
    if low in words:
        return words[low]
    bare = low.strip(" \t\"'`*.!,;:()[]")
    if question.answers == "yes/no":
        bare = _YES_NO_WORDS.get(bare, bare)
    if bare in words:
        return words[bare]
    if bare in _UNKNOWN and (bare or not said):
        return words.get("unknown")
    start = low.lstrip(" \t\"'`*([")
    for word in sorted(words, key=len, reverse=True):
        if start.startswith(word) and _REASON.match(start[len(word) :].lstrip("\"'`*)]")):
            return words[word]
    return None


def _confidence(given: object, key: str) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(str(given).strip().rstrip("%"))
    except ValueError:
        number = math.nan
    number = number / 100 if str(given).strip().endswith("%") else number
    if 0 <= number <= 1:
        return number
    raise MalformedAnswer(f"the confidence of question {key} must lie between 0 and 1.")
