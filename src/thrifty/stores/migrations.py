"""The schema, as a list of steps that only go forward.

A store holds the number of the last step it has taken. Opening it takes the missing ones, under a
lock, each in the transaction that also writes its number. A step that was released is never
changed: a new one is added below it. ``{...}`` stands for what the two databases spell differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["LATEST", "STEPS", "statements_of"]

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

STEPS = (_FIRST, _SECOND)
LATEST = len(STEPS)


def statements_of(step: str, spelling: Mapping[str, str]) -> list[str]:
    """The statements of a step, in the words of one database."""
    text = step.format(**spelling)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def migrate(execute: Callable[[str], object], at: int, spelling: Mapping[str, str]) -> int:
    """Take the steps that are missing; the caller holds the lock and the transaction."""
    for step in STEPS[at:]:
        for statement in statements_of(step, spelling):
            execute(statement)
    return LATEST
