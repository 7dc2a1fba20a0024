"""The tables of a store, and the steps by which a store of an earlier schema comes to them.

A store holds the number of its schema. A new one is made at :data:`OLDEST`, the schema of 0.2, and
takes the :data:`STEPS` after it, under a lock, in the transaction that also writes the number. A
step that was released is never changed: a new one is added below it. ``{...}`` stands for what the
two databases spell differently.
"""

from __future__ import annotations

from collections.abc import Mapping

from thrifty.errors import StoreError, StoreTooNew
from thrifty.stores.lifetime_pages import Run

# Every table, in words of :func:`_spelled`. First what one lifetime was given and knows; then the
# ledger, whose cells belong to the store whichever lifetime bought them; then a model's later life.
_TABLES = """
CREATE TABLE lifetimes (
    id {id} PRIMARY KEY, name {text} UNIQUE, family {text}, features TEXT, named {zero},
    representation {text}, version {zero}, currency {text} DEFAULT '', reserved {zero},
    spent {zero}, sequence {zero}, compacted {zero}, settings {text} DEFAULT '{{}}',
    forgets {zero}, n_features {int}, beyond {zero}
);
CREATE TABLE tasks (
    {of}, position {whole}, name {text}, route {text}, model {text}, receipt {text}, failure TEXT,
    token {text}, learned_at {moment} DEFAULT 0, family TEXT, PRIMARY KEY (lifetime, name)
);
CREATE TABLE to_buy (
    {of}, place {text}, features {text}, n_features {whole}, price {whole}, examples {bytes},
    PRIMARY KEY (lifetime, place, features)
);
CREATE TABLE changes ({of}, at {moment}, what {text}, before {text}, after {text});
CREATE TABLE bookings ({of}, task {text}, at {moment});
CREATE TABLE known_blocks ({of}, name {text}, block {bytes}, PRIMARY KEY (lifetime, name));
CREATE TABLE kept (
    {of}, kind {text}, name {text}, block {bytes}, PRIMARY KEY (lifetime, kind, name)
);

CREATE TABLE ledger (id {int} PRIMARY KEY, sequence {whole}, compacted {whole});
INSERT INTO ledger (id, sequence, compacted) VALUES (1, 0, 0);
CREATE TABLE cell_names (
    kind {text}, source {text}, name {text}, number {whole},
    PRIMARY KEY (kind, source, name), UNIQUE (kind, number)
);
CREATE TABLE cell_blocks (
    kind {text}, number {whole}, boolean {whole}, block {bytes}, PRIMARY KEY (kind, number)
);
CREATE TABLE purchases (
    id {id} PRIMARY KEY, {of}, key {text} UNIQUE, task {text}, provider {text}, status {text},
    owner {text}, created_at {moment}, give_up_at {moment}, block {bytes}, reserved {whole},
    spent {whole}, answer {blob}, note {text} DEFAULT '', settled_at {moment} DEFAULT 0,
    sequence {zero}, compacted {zero}, beyond {zero}
);
CREATE TABLE accounts (
    {of}, task {text}, reserved {whole}, spent {whole}, PRIMARY KEY (lifetime, task)
);
CREATE TABLE example_spending (
    {of}, chunk {whole}, amounts {bytes}, PRIMARY KEY (lifetime, chunk)
);
CREATE TABLE label_columns (source {text}, name {text}, PRIMARY KEY (source, name));

CREATE TABLE predictions (
    {of}, run {whole}, task {text}, account {text}, owner {text}, begun_at {moment}, receipt TEXT,
    PRIMARY KEY (lifetime, run)
);
CREATE TABLE versions (
    {of}, task {text}, version {whole}, state {text}, model {text}, receipt {text}, family TEXT,
    learned_at {moment}, note {text}, token {text}, PRIMARY KEY (lifetime, task, version)
);
CREATE TABLE task_examples (
    {of}, task {text}, version {whole}, block {bytes}, PRIMARY KEY (lifetime, task, version)
);
CREATE TABLE answers (
    {of}, account {text}, task {text}, version {whole}, at {moment}, block {bytes},
    PRIMARY KEY (lifetime, account)
);
CREATE TABLE outcomes (
    {of}, task {text}, batch {whole}, at {moment}, block {bytes},
    PRIMARY KEY (lifetime, task, batch)
);
CREATE TABLE references_left_out (
    {of}, task {text}, version {whole}, block {bytes}, PRIMARY KEY (lifetime, task, version)
);

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


def _spelled(spelling: Mapping[str, str]) -> dict[str, str]:
    """What the tables say of a column, as a database spells it: nothing is NULL unawares."""
    whole = f"{spelling['int']} NOT NULL"
    return {
        **spelling,
        "text": "TEXT NOT NULL",
        "whole": whole,
        "zero": f"{whole} DEFAULT 0",
        "moment": f"{spelling['real']} NOT NULL",
        "bytes": f"{spelling['blob']} NOT NULL",
        "of": f"lifetime {whole} REFERENCES lifetimes (id)",
    }


def bring_up(run: Run, at: int, spelling: Mapping[str, str]) -> None:
    """Make the tables, or take the missing steps; the caller holds the lock and the transaction."""
    tables = (_TABLES,) if at == 0 else ()
    for text in (*tables, *STEPS[max(at - OLDEST, 0) :]):
        for statement in text.format(**_spelled(spelling)).split(";"):
            if statement.strip():
                run(statement.strip())
