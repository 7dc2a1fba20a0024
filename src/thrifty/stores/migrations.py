"""The schema, as a list of steps that only go forward.

A store holds the number of the last step it has taken. Opening it takes the missing ones, under a
lock, each in the transaction that also writes its number. A step that was released is never
changed: a new one is added below it. ``{...}`` stands for what the two databases spell differently.
A step that has to read what it moves is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thrifty.stores.move_cells import Run, move_cells

__all__ = ["LATEST", "STEPS", "statements_of"]

Move = Callable[[Run], None]

_FIRST = """
CREATE TABLE lifetimes (
    id {id} PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    family TEXT NOT NULL,
    features TEXT,
    named {int} NOT NULL DEFAULT 0,
    representation TEXT NOT NULL,
    version {int} NOT NULL DEFAULT 0,
    currency TEXT NOT NULL DEFAULT '',
    reserved {int} NOT NULL DEFAULT 0,
    spent {int} NOT NULL DEFAULT 0,
    sequence {int} NOT NULL DEFAULT 0,
    compacted {int} NOT NULL DEFAULT 0
);
CREATE TABLE tasks (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    position {int} NOT NULL,
    name TEXT NOT NULL,
    route TEXT NOT NULL,
    model TEXT NOT NULL,
    receipt TEXT NOT NULL,
    failure TEXT,
    token TEXT NOT NULL,
    PRIMARY KEY (lifetime, name)
);
CREATE TABLE names (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    number {int} NOT NULL,
    PRIMARY KEY (lifetime, kind, name),
    UNIQUE (lifetime, kind, number)
);
CREATE TABLE purchases (
    id {id} PRIMARY KEY,
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    key TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    provider TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at {real} NOT NULL,
    give_up_at {real} NOT NULL,
    block {blob} NOT NULL,
    reserved {int} NOT NULL,
    spent {int} NOT NULL,
    answer {blob},
    note TEXT NOT NULL DEFAULT '',
    settled_at {real} NOT NULL DEFAULT 0,
    sequence {int} NOT NULL DEFAULT 0,
    compacted {int} NOT NULL DEFAULT 0
);
CREATE TABLE accounts (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    reserved {int} NOT NULL,
    spent {int} NOT NULL,
    PRIMARY KEY (lifetime, task)
);
CREATE TABLE example_costs (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    chunk {int} NOT NULL,
    amounts {blob} NOT NULL,
    PRIMARY KEY (lifetime, chunk)
);
CREATE TABLE cell_columns (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    number {int} NOT NULL,
    boolean {int} NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, kind, number)
);
"""

# Open purchases are looked up before every call, and there are few of them among many settled ones;
# and users asked when a task was learned.
_SECOND = """
CREATE INDEX purchases_by_status ON purchases (lifetime, status, sequence);
ALTER TABLE tasks ADD COLUMN learned_at {real} NOT NULL DEFAULT 0;
"""

# Cells belong to the store, by source, example and feature, whichever lifetime bought them; what
# one lifetime was given (prices, budget, seed) is kept with it; predictions have their bill.
_THIRD = """
CREATE TABLE ledger (
    id {int} PRIMARY KEY,
    sequence {int} NOT NULL,
    compacted {int} NOT NULL
);
INSERT INTO ledger (id, sequence, compacted) VALUES (1, 0, 0);
CREATE TABLE cell_names (
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    number {int} NOT NULL,
    PRIMARY KEY (kind, source, name),
    UNIQUE (kind, number)
);
CREATE TABLE cell_blocks (
    kind TEXT NOT NULL,
    number {int} NOT NULL,
    boolean {int} NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (kind, number)
);
CREATE TABLE example_spending (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    chunk {int} NOT NULL,
    amounts {blob} NOT NULL,
    PRIMARY KEY (lifetime, chunk)
);
CREATE TABLE predictions (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    run {int} NOT NULL,
    task TEXT NOT NULL,
    account TEXT NOT NULL,
    owner TEXT NOT NULL,
    begun_at {real} NOT NULL,
    receipt TEXT,
    PRIMARY KEY (lifetime, run)
);
CREATE TABLE label_columns (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (source, name)
);
CREATE TABLE to_buy (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    place TEXT NOT NULL,
    features TEXT NOT NULL,
    n_features {int} NOT NULL,
    price {int} NOT NULL,
    examples {blob} NOT NULL,
    PRIMARY KEY (lifetime, place, features)
);
CREATE TABLE changes (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    at {real} NOT NULL,
    what TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL
);
ALTER TABLE lifetimes ADD COLUMN settings TEXT NOT NULL DEFAULT '{{}}';
ALTER TABLE lifetimes ADD COLUMN forgets {int} NOT NULL DEFAULT 0;
ALTER TABLE lifetimes ADD COLUMN n_features {int};
ALTER TABLE tasks ADD COLUMN family TEXT;
CREATE UNIQUE INDEX tasks_by_position ON tasks (lifetime, position);
CREATE INDEX purchases_in_store ON purchases (status, compacted, sequence);
CREATE INDEX purchases_of_task ON purchases (lifetime, task, compacted);
"""

_AFTER_THIRD = """
DROP TABLE names;
DROP TABLE cell_columns;
DROP TABLE example_costs;
DROP INDEX purchases_by_status;
"""

# Who looked first at the cells of a table, also after the task was forgotten.
_SIXTH = """
CREATE TABLE bookings (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    at {real} NOT NULL
);
"""

# What past tasks taught, in parts: a task writes those it changed.
_SEVENTH = """
CREATE TABLE known_blocks (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    name TEXT NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, name)
);
"""

# What a provider billed beyond what was reserved for it is owed, and is not what was spent.
_EIGHTH = """
ALTER TABLE purchases ADD COLUMN beyond {int} NOT NULL DEFAULT 0;
ALTER TABLE lifetimes ADD COLUMN beyond {int} NOT NULL DEFAULT 0;
"""

# A model lives on: its versions, whom it was learned from, what it answered, what became true.
_NINTH = """
CREATE TABLE versions (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    version {int} NOT NULL,
    state TEXT NOT NULL,
    model TEXT NOT NULL,
    receipt TEXT NOT NULL,
    family TEXT,
    learned_at {real} NOT NULL,
    note TEXT NOT NULL,
    token TEXT NOT NULL,
    PRIMARY KEY (lifetime, task, version)
);
CREATE TABLE task_examples (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    version {int} NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, task, version)
);
CREATE TABLE answers (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    account TEXT NOT NULL,
    task TEXT NOT NULL,
    version {int} NOT NULL,
    at {real} NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, account)
);
CREATE TABLE outcomes (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    batch {int} NOT NULL,
    at {real} NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, task, batch)
);
CREATE TABLE references_left_out (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    version {int} NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, task, version)
);
"""

# Prefixes that were made once, and interviews that go on: packed JSON by kind and name.
_KEPT = """
CREATE TABLE kept (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, kind, name)
);
"""


def _names_without_zero(run: Run) -> None:
    """Names of interviews held the character 0, which PostgreSQL cannot."""
    for lifetime, kind, name in run("SELECT lifetime, kind, name FROM kept"):
        if "\0" in str(name):
            run(
                "UPDATE kept SET name = ? WHERE lifetime = ? AND kind = ? AND name = ?",
                (str(name).replace("\0", "\x1f"), lifetime, kind, name),
            )


STEPS: tuple[str | Move, ...] = (
    _FIRST, _SECOND, _THIRD, move_cells, _AFTER_THIRD, _SIXTH, _SEVENTH, _EIGHTH, _NINTH,
    _KEPT, _names_without_zero,
)  # fmt: skip
LATEST = len(STEPS)


def statements_of(step: str, spelling: Mapping[str, str]) -> list[str]:
    """The statements of a step, in the words of one database."""
    text = step.format(**spelling)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def migrate(run: Run, at: int, spelling: Mapping[str, str]) -> int:
    """Take the steps that are missing; the caller holds the lock and the transaction."""
    for step in STEPS[at:]:
        if callable(step):
            step(run)
            continue
        for statement in statements_of(step, spelling):
            run(statement)
    return LATEST
