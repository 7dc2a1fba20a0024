"""An answer belongs to a text, a question as it is worded and who answers: lists may change."""

import json
import re

import pytest

import thrifty
from thrifty import Question, Rates, Source
from thrifty.cells.sources.prompts import old_prompt_hash
from thrifty.errors import BadInput
from thrifty.protocol import Cells

RATES = Rates("0.15 USD", "0.60 USD")
TEXTS = {f"note {i}": f"Patient {i} is {40 + i} years old." for i in range(8)}
FEVER, AGE = Question("Is there a fever?"), Question("How old is the patient?", "number")
WARD = Question("Which ward?", ["surgery", "medicine"])


class Model:
    """Answers, and counts what it is asked."""

    rates = RATES

    def __init__(self, model: str = "small") -> None:
        self.model, self.asked = model, 0

    def __call__(self, prompt: str) -> str:
        asked = re.findall(r"^(\d+)\. .* \((.*)\)$", prompt, re.M)
        self.asked += len(asked)
        said = {n: 44 if form == "a number" else json.loads(form[7:].split(", ")[0])
                for n, form in asked}  # fmt: skip
        return json.dumps(said)


def ask_all(life, questions, **options) -> None:
    source = Source.from_questions(TEXTS, questions, rates=RATES, **options)
    cells = Cells(source, ledger=life.ledger, task=f"t{len(source.feature_names)}")
    cells.get(range(len(TEXTS)), range(source.n_features))


LISTS = {
    "one more": ({"fever": FEVER}, {"fever": FEVER, "ward": WARD}, 8),
    "one less": ({"fever": FEVER, "ward": WARD}, {"ward": WARD}, 0),
    "another order": ({"fever": FEVER, "age": AGE}, {"age": AGE, "fever": FEVER}, 0),
    "another name": ({"fever": FEVER}, {"is feverish": FEVER}, 0),
    "with and without a name": ([FEVER, AGE], {"fever": FEVER, "age": AGE}, 0),
    "a number without a name": ([FEVER], [FEVER, AGE], 8),
    "another wording": ({"fever": FEVER}, {"fever": Question("Any fever?")}, 8),
    "other answers": ({"ward": WARD}, {"ward": Question("Which ward?", ["a", "b"])}, 8),
}


@pytest.mark.parametrize("change", LISTS)
def test_answers_stay_when_the_list_of_questions_changes(tmp_path, change):
    first, second, more = LISTS[change]
    life, model = thrifty.Lifetime(store=tmp_path / "s.db"), Model()
    ask_all(life, first, ask=model)
    before = model.asked
    ask_all(thrifty.Lifetime.open(tmp_path / "s.db"), second, ask=model)
    assert model.asked - before == more


@pytest.mark.parametrize("how", ["added", "reordered", "one of them alone"])
def test_answers_stay_when_answerers_change(how):
    life, small, large, third = thrifty.Lifetime(), Model("small"), Model("large"), Model("third")

    def by(*models):
        return {"fever": Question("Is there a fever?", answerers=models), "age": AGE}

    ask_all(life, by(small, large), ask=small)
    before = small.asked, large.asked
    if how == "one of them alone":
        ask_all(life, {"fever": FEVER}, ask=large)
    else:
        ask_all(life, by(large, third, small) if how == "added" else by(large, small), ask=small)
    assert (small.asked, large.asked) == before
    assert third.asked == (8 if how == "added" else 0)


def test_confidences_belong_to_their_question():
    life, asked = thrifty.Lifetime(), []

    def model(prompt):
        found = re.findall(r"^(\d+)\. ", prompt, re.M)
        asked.extend(found)
        return json.dumps({n: {"answer": "yes", "confidence": 0.9} for n in found})

    ask_all(life, {"fever": FEVER}, ask=model, model="m", confidence=True)
    more = {"cough": Question("A cough?"), "fever": FEVER}
    ask_all(life, more, ask=model, model="m", confidence=True)
    assert len(asked) == 16


def test_one_question_under_two_names_is_refused():
    with pytest.raises(BadInput, match="fever"):
        Source.from_questions(TEXTS, {"fever": FEVER, "hot": FEVER}, ask=Model(), rates=RATES)


def test_answers_that_0_2_bought_are_still_owned(tmp_path):
    """It kept them under a hash of the whole list."""
    life, model = thrifty.Lifetime(store=tmp_path / "s.db"), Model()
    questions = {"fever": FEVER, "age": AGE}
    ask_all(life, questions, ask=model)
    named = life.ledger.book.write(lambda pages: as_in_0_2(pages, questions))
    assert named == 2
    before = model.asked
    again = thrifty.Lifetime.open(tmp_path / "s.db")
    ask_all(again, questions, ask=model)
    ask_all(again, {"ward": WARD, **questions}, ask=model)
    assert model.asked - before == 8


def as_in_0_2(pages, questions) -> int:
    hashed = old_prompt_hash(questions, confidence=False)
    numbers = sorted(pages.sources_of("feature"))
    for name, number in zip(questions, numbers):
        pages.rename("feature", number, name, f"small {hashed}")
    return len(numbers)
