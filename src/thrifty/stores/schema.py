"""The tables of a store, and the steps by which a store of an earlier schema comes to them.

A store holds the number of its schema. A new one is made at :data:`OLDEST`, the schema of 0.2, and
takes the :data:`STEPS` after it, under a lock, in the transaction that also writes the number. A
step that was released is never changed: a new one is added below it. ``{...}`` stands for what the
two databases spell differently.
"""

from __future__ import annotations

from collections.abc import Mapping

from thrifty.errors import StoreError, StoreTooNew
from thrifty.stores.task_pages import Run

# What one lifetime was given and knows: settings, tasks, what they taught, who looked first.
_OF_A_LIFETIME = """
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
    compacted {int} NOT NULL DEFAULT 0,
    settings TEXT NOT NULL DEFAULT '{{}}',
    forgets {int} NOT NULL DEFAULT 0,
    n_features {int},
    beyond {int} NOT NULL DEFAULT 0
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
    learned_at {real} NOT NULL DEFAULT 0,
    family TEXT,
    PRIMARY KEY (lifetime, name)
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
CREATE TABLE bookings (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    at {real} NOT NULL
);
CREATE TABLE known_blocks (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    name TEXT NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, name)
);
CREATE TABLE kept (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    block {blob} NOT NULL,
    PRIMARY KEY (lifetime, kind, name)
);
"""

# Cells belong to the store, by source, example and feature, whichever lifetime bought them.
_LEDGER = """
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
    compacted {int} NOT NULL DEFAULT 0,
    beyond {int} NOT NULL DEFAULT 0
);
CREATE TABLE accounts (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    task TEXT NOT NULL,
    reserved {int} NOT NULL,
    spent {int} NOT NULL,
    PRIMARY KEY (lifetime, task)
);
CREATE TABLE example_spending (
    lifetime {int} NOT NULL REFERENCES lifetimes (id),
    chunk {int} NOT NULL,
    amounts {blob} NOT NULL,
    PRIMARY KEY (lifetime, chunk)
);
CREATE TABLE label_columns (
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (source, name)
);
"""

# A model lives on: predictions, its versions, whom it was learned from, outcomes.
_AFTERWARDS = """
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

_INDICES = """
CREATE UNIQUE INDEX tasks_by_position ON tasks (lifetime, position);
CREATE INDEX purchases_in_store ON purchases (status, compacted, sequence);
CREATE INDEX purchases_of_task ON purchases (lifetime, task, compacted);
"""

#: the schema of 0.2
OLDEST = 11
STEPS: tuple[str, ...] = (
    # each prediction that buys looks for its own line: a store may hold a million of them
    "CREATE INDEX IF NOT EXISTS predictions_by_account ON predictions (account)",
)
LATEST = OLDEST + len(STEPS)


def check_schema(number: int, place: str) -> int:
    """The number of a store's schema, 0 where there is none; one that cannot be read is refused."""
    if number > LATEST:
        raise StoreTooNew(
            f"{place} was written by a newer Thrifty (schema {number}, this one knows {LATEST}). "
            "It was left as it is; upgrade Thrifty."
        )
    if 0 < number < OLDEST:
        raise StoreError(
            f"{place} was written before Thrifty 0.2 (schema {number}, this one reads {OLDEST} and "
            "later). It was left as it is. Thrifty 0.2 brings it up: pip install 'thrifty==0.2.*', "
            "open it once for writing, and upgrade again."
        )
    return number


def bring_up(run: Run, at: int, spelling: Mapping[str, str]) -> None:
    """Make the tables, or take the missing steps; the caller holds the lock and the transaction."""
    tables = (_OF_A_LIFETIME, _LEDGER, _AFTERWARDS, _INDICES) if at == 0 else ()
    for text in (*tables, *STEPS[max(at - OLDEST, 0) :]):
        for statement in text.format(**spelling).split(";"):
            if statement.strip():
                run(statement.strip())
