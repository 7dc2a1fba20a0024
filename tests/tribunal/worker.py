"""A buying process: it asks for cells at random, through the public readers, until it is ended."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from http.client import HTTPConnection
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np

from tests.tribunal.rooms import (
    FEATURES,
    LABEL,
    READ,
    WARD,
    WARD_CELL,
    WORDS,
    WRITTEN,
    Room,
    amount,
    said,
    text_of,
    truth,
)
from thrifty.cells import Answered, Budget, Cells, Source
from thrifty.cells.prices.money import Rates
from thrifty.cells.sources.chat import ChatServer
from thrifty.cells.sources.oracle import Oracle
from thrifty.cells.sources.prompts import Question
from thrifty.errors import (
    BadInput,
    BudgetExceeded,
    ClockWentBack,
    NotBilled,
    ProviderError,
    TaskExists,
)
from thrifty.lifetime.lifetime import Lifetime
from thrifty.models import Models
from thrifty.trees import Trees
from thrifty.typing import Json

#: what a worker's byte says: not begun, has called the provider before, is in a call
STATES = ("not begun", "between calls", "in a call")

#: examples of a task
_ROWS = 12
#: what is said where the money that is left is too little to begin a task
_TOO_LITTLE = ("smallest useful sample", "nothing may be spent")
#: prices of a million tokens
_RATES = Rates(READ, WRITTEN)
_QUESTIONS = {f: Question(f"Is {f} so?", "number") for f in FEATURES}


def open_lifetime(room: Room, budget: Budget | None) -> Lifetime:
    """The room's lifetime, as any of its openers opens it."""
    family = Models() if room.mixed or room.wards else Trees(max_depth=3)
    prices = dict.fromkeys(WARD, amount(WARD_CELL)) if room.wards else None
    budget = Budget(10**9) if budget is None else budget  # one that nothing reaches
    return Lifetime(family, store=room.store, prices=prices, budget=budget, random_state=0)


def _poster(room: Room, which: int, state: mmap | None, slot: int) -> Callable[..., object]:
    """How the provider is asked."""

    def post(ids: Sequence[str], names: Sequence[str], key: str | None) -> object:
        if state is not None:
            state[slot] = 2
        body = {"ids": list(ids), "names": list(names), "key": key, "contract": which}
        connection = HTTPConnection("127.0.0.1", room.port, timeout=10)
        try:
            connection.request("POST", "/cells", json.dumps(body).encode())
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
            if state is not None:
                state[slot] = 1
        if reply.status == 503:
            raise NotBilled("503")
        return _answer(room, ids, names, json.loads(data))

    return post


def ward_of(examples: Sequence[str]) -> Source:
    """A table that all learners share; a cell of it has a price."""
    table = [[truth(e, name) + int(e[1:]) / 1000 for name in WARD] for e in examples]  # no bits
    return Source.from_array(np.array(table), feature_names=WARD, examples=examples, name="ward")


def doctor_of(room: Room, label: str, state: mmap | None = None, slot: int = 0) -> Oracle:
    """Who is asked for labels; their price is not in any list of the laboratory."""
    post = _poster(room, 0, state, slot)

    def ask(ids: Sequence[str]) -> object:
        answer = post(ids, [label], None)
        flat = isinstance(answer, list) and all(isinstance(r, list) and len(r) == 1 for r in answer)
        return [row[0] for row in answer] if flat else answer  # type: ignore[attr-defined]

    return Oracle(
        ask, price=amount(LABEL), classes=(0, 1), name="doctor", max_examples=5,
        timeout=room.timeout, attempts=1,
    )  # fmt: skip


def source_of(
    room: Room, which: int, state: mmap | None = None, slot: int = 0, **options: Any
) -> Source:
    """The room's provider as a source, with the prices of one of its openers."""
    post = _poster(room, which, state, slot)

    def plain(ids: Sequence[str], names: Sequence[str]) -> object:
        return post(ids, names, None)

    async def later(ids: Sequence[str], names: Sequence[str]) -> object:
        return await asyncio.to_thread(post, ids, names, None)

    def keyed(ids: Sequence[str], names: Sequence[str], idempotency_key: str) -> object:
        return post(ids, names, idempotency_key)

    options = {"max_examples": 3, "timeout": room.timeout, "attempts": 1, **options}
    examples = options.pop("examples", room.examples)
    words = options.pop("words", WORDS)
    if room.asks:
        return _bank(room, examples, state, slot, **options)
    fn: Any = {"plain": plain, "async": later, "keyed": keyed}[room.provider]
    if room.mixed:
        options["kinds"] = {"f3": "number", "f4": words}
    return Source.from_callable(
        fn,
        examples=examples,
        features=FEATURES,
        prices=room.prices[which],
        name="lab",
        idempotent=room.provider == "keyed",
        **options,
    )


class _Watched(ChatServer):
    """A chat server that says when it is asked."""

    state: mmap | None = None
    slot = 0

    def body(self, prompt: str, longest: int | None = None, *, logprobs: bool = False) -> Json:
        if self.state is not None:
            self.state[self.slot] = 2
        return super().body(prompt, longest, logprobs=logprobs)


@lru_cache(maxsize=1)
def _chat(port: int) -> _Watched:
    """One for all banks of a process: it reads certificates, which takes longer than a call."""
    return _Watched("small", base_url=f"http://127.0.0.1:{port}/v1", key_from=None, poll=0.01)


def prepare(room: Room) -> None:
    """What every worker of a room would do first, done once before they are forked."""
    if room.asks:
        _chat(room.port).client()  # it reads certificates


def _bank(
    room: Room, examples: Sequence[str], state: mmap | None, slot: int, **options: Any
) -> Source:
    ask = _chat(room.port)
    ask.state, ask.slot = state, slot
    return Source.from_questions(
        {e: text_of(e) for e in examples},
        _QUESTIONS,
        ask=ask,
        rates=_RATES,
        batch=room.provider == "batches",
        again=0,
        name="lab",
        **{"concurrency": 3, **options},
    )


def _answer(room: Room, ids: Sequence[str], names: Sequence[str], data: Any) -> object:
    """What the room's function gives back: rows or a frame, with what they cost where it is told"""
    values = data["values"]
    fits = isinstance(values, list) and [len(r) for r in values] == [len(names)] * len(ids)
    if room.frames and fits:
        import pandas

        values = pandas.DataFrame(values, index=list(ids), columns=list(names))
    if data["costs"] is None:
        return values
    return Answered(values, cost=data["costs"], failed=data["failed"])


def warm_up() -> None:
    """Import and compile all that a worker needs, once: what is forked then begins at once."""

    def fn(ids: Sequence[str], names: Sequence[str]) -> object:
        return [[truth(e, f) for f in names] for e in ids]

    source = Source.from_callable(
        fn, examples=[f"p{i}" for i in range(_ROWS)], features=FEATURES, name="lab", prices=1
    )
    for family in (Trees(max_depth=3), Models()):
        life = Lifetime(family, budget=Budget(10**9))
        life.learn("warm", source, [truth(f"p{i}", "f0") for i in range(_ROWS)])
        life.predict("warm", source)


def run_worker(room: Room, slot: int, state: mmap, seed: int, notes: Path) -> None:
    """Buy until the byte after all slots says stop, or somebody kills us."""
    code = 3
    try:
        _buy(room, slot, state, random.Random(seed), notes)
        code = 0
    except BaseException:
        write_note(notes, "stranger", traceback.format_exc())
    finally:
        os._exit(code)


def _buy(room: Room, slot: int, state: mmap, chance: random.Random, notes: Path) -> None:
    life = open_lifetime(room, room.limit)
    offset = [0.0]
    if room.jumps:
        life.ledger.clock = lambda: time.time() + offset[0]
    which = chance.randrange(len(room.prices))
    words = chance.sample(WORDS, len(WORDS))
    ends: Counter[str] = Counter()
    n, reader = 0, None
    while not state[-1]:
        n += 1
        state[slot] = min(state[slot], 1)
        if room.jumps and chance.random() < 0.2:
            offset[0] = chance.choice((0, 0, 600, -600, 86_400, chance.uniform(-100, 100)))
        try:
            if chance.random() < (0.3 if room.gentle else 0.1):
                # now and then a name that others take as well
                shared = chance.random() < 0.2
                name = f"shared {chance.randrange(5)}" if shared else f"t{os.getpid()}-{n}"
                try:
                    _learn(room, life, which, state, slot, chance, name)
                except BadInput as error:
                    if room.limit is None or not any(said in str(error) for said in _TOO_LITTLE):
                        raise
                    continue  # what is left is too little for a first look
                write_note(notes, "learned", name)
                continue
            if room.wards and chance.random() < 0.5:
                _live_on(room, life, state, slot, chance, notes)
                continue
            if _of_the_lab(life) and chance.random() < (0.4 if room.gentle else 0.1):
                _predict(
                    room,
                    life,
                    source_of(room, which, state, slot, examples=chance.sample(room.examples, 4)),
                    chance.choice(_of_the_lab(life)[-20:]),
                    notes,
                )
                write_note(notes, "predicted", "")
                continue
            fresh = reader is None or chance.random() < 0.2
            if reader is None or fresh:
                source = source_of(
                    room, which, state, slot, concurrency=chance.choice((1, 1, 2)), words=words
                )
                reader = Cells(source, ledger=life.ledger, task=f"w{os.getpid()}-{n}")
            _look(room, reader, chance, notes, words)
            if fresh:  # nobody else has ended a purchase of it yet
                _one_account(reader, notes)
        except (ProviderError, BudgetExceeded, TaskExists, ClockWentBack) as error:
            ends[type(error).__name__] += 1
            time.sleep(0.002)


def _of_the_lab(life: Lifetime) -> list[str]:
    """Tasks over the laboratory's features."""
    return [name for name in life if not name.startswith(("ward ", "y "))]


def _live_on(
    room: Room, life: Lifetime, state: mmap, slot: int, chance: random.Random, notes: Path
) -> None:
    """Tasks over one priced table that others learn from, too; labels, answers, updates."""
    examples = chance.sample(room.examples, min(24, room.n_examples))
    X, y = ward_of(examples), [truth(e, "g0") for e in examples]
    there = [name for name in life if name.startswith("ward ")]
    what = chance.choice(("learn", "learn", "labels", "answer", "update", "predict", "rollback"))
    label = f"y {chance.randrange(3)}"
    spend = amount(chance.randrange(4, 20) * WARD_CELL)
    state[slot] = 1
    try:
        if what == "learn" or (not there and what != "labels"):
            name = f"ward {os.getpid()}-{chance.randrange(10**6)}"
            life.learn(name, X, y, spend=spend)
            write_note(notes, "learned", name)
        elif what == "labels":
            life.learn(label, X, doctor_of(room, label, state, slot), spend=spend)
            write_note(notes, "learned", label)
        elif what == "answer":
            name = chance.choice(there)
            doctor = doctor_of(room, name, state, slot)
            life.answer(name, X, oracle=doctor, agree=0.7, confidence=0.7)
        elif what == "update":
            life[chance.choice(there)].update(X, y, spend=spend)
        elif what == "rollback":
            life[chance.choice(there)].rollback()
        else:
            life.predict(chance.choice(there), X)
            write_note(notes, "predicted", "")
        write_note(notes, "did", what)
    except BadInput as error:  # too little money or too few labels for it; nothing to roll back
        write_note(notes, "could not", f"{what}: {error}")


def _look(
    room: Room, reader: Cells, chance: random.Random, notes: Path, words: Sequence[str]
) -> None:
    rows = chance.sample(range(room.n_examples), chance.randint(1, 5))
    features = chance.sample(range(len(FEATURES)), chance.randint(1, 3))
    values = reader.get(rows, features)
    for i, row in enumerate(rows):
        for j, feature in enumerate(features):
            want = said(room, f"p{row}", FEATURES[feature])
            if values[i, j] != (words.index(want) if isinstance(want, str) else want):
                write_note(notes, "wrong", f"p{row} {FEATURES[feature]}: {values[i, j]}")


def _one_account(reader: Cells, notes: Path) -> None:
    """What a reader has cost is one sum: its receipt, its rows, its lines, its account."""
    receipt, rows = reader.receipt(), round(float(reader.cost_per_row().sum()) * 1e6)
    lines = round(sum(paid for _, _, paid in receipt.lines) * 1e6)
    cost = round(receipt.cost * 1e6)
    if rows != cost or (receipt.lines and lines != cost):
        write_note(notes, "wrong", f"a receipt of {cost}, its rows {rows}, its lines {lines}")


def _learn(
    room: Room, life: Lifetime, which: int, state: mmap, slot: int, chance: random.Random, name: str
) -> None:
    """A whole task over a few examples: its commit moves purchases into columns."""
    target = chance.choice([f for f in FEATURES if not (room.mixed and f in ("f3", "f4"))])
    examples = chance.sample(room.examples, _ROWS)
    while not 2 <= sum(truth(e, target) for e in examples) <= _ROWS - 2:  # a class has two rows
        examples = chance.sample(room.examples, _ROWS)
    source = source_of(room, which, state, slot, examples=examples)
    life.learn(name, source, [truth(e, target) for e in examples])


def _predict(room: Room, life: Lifetime, source: Source, name: str, notes: Path) -> None:
    """What a task's model says of a few examples, also of those before the money ended."""
    ended = None
    try:
        made = life.predict(name, source)
    except BudgetExceeded as error:
        ended = error
        if error.prediction is None:
            raise
        made = error.prediction
    rows = round(float(sum(made.receipt.cost_per_row)) * 1e6)
    if rows != round(made.receipt.cost * 1e6):
        write_note(notes, "wrong", f"rows of {name} cost {rows}, not {made.receipt.cost}")
    if room.mixed or room.asks:  # what a model says of cells not bought is the model's own affair
        if ended is not None:
            raise ended
        return
    model, ids = life[name].model, source.examples or ()
    names = model.feature_names_
    table = np.array([[truth(e, f) for f in names] for e in ids], dtype=np.uint8)
    said = model.predict(Source.from_array(table, feature_names=names))
    for i in np.flatnonzero(made.answered).tolist():
        if made.values[i] != said[i]:
            write_note(notes, "wrong", f"{name} on {ids[i]}: {made.values[i]}")
    if ended is not None:
        raise ended


def write_note(notes: Path, kind: str, text: object) -> None:
    """What a worker saw, for the judge; one write, so that lines do not mix."""
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, json.dumps({"kind": kind, "text": text}).encode() + b"\n")
    os.close(file)
