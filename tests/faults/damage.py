"""Damaged and hostile inputs by the thousand: ``python tests/faults/damage.py 2000``.

Each must end in a value or an error of Thrifty's, within ten seconds and one gigabyte. Inputs are
read in forked children, so that one that crashes the process is found too.
"""

import asyncio
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import textwrap
import time
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import typer
from click.testing import CliRunner

import thrifty
from tests.loops import AMPLE
from thrifty import Source
from thrifty.cells.sources.packed_file import seal_of
from thrifty.cli import app
from thrifty.errors import PurchaseInDoubt, ThriftyError
from thrifty.packed import pack
from thrifty.protocol import Cells
from thrifty.report import read_store
from thrifty.report.dashboard import Guard, Watcher, make_app
from thrifty.report.view import Reader
from thrifty.testing import FakeProvider

COMMAND = typer.main.get_command(app)
SECONDS, MEGABYTES = 10, 1024
IDS = [f"p{i}" for i in range(30)]
FEATURES = [f"f{i}" for i in range(5)]
PRICES = thrifty.PriceList(2, fees={"needle": (5, ["f0", "f1"])}, currency="EUR")
PORT, TOKEN = 8711, "a-token-that-is-long-enough"

DEEP = "[" * 3000 + "]" * 3000
ODD = [
    None, True, -1, 0, 5, 2**31, 2**63 - 1, -(2**63), 10**30, 1e308, float("nan"), float("inf"), "",
    "x", "\x1b[31m", "é☃", "\ud800", "a\x00b", "../../etc/passwd", "9" * 5000, [], {}, [1], [[1]],
    {"a": 1}, {"family": "Trees"}, b"", b"\x00\xff", "{", "null", "[]", "{}", "1e999", DEEP,
]  # fmt: skip


@dataclass
class Found:
    """What came of all inputs."""

    inputs: Counter = field(default_factory=Counter)
    errors: Counter = field(default_factory=Counter)
    accepted: int = 0
    bad: list[str] = field(default_factory=list)
    slowest: float = 0.0
    largest: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.inputs.items()))
        said = ", ".join(f"{n} {kind}" for kind, n in self.errors.most_common())
        return "\n".join(
            [
                f"inputs         {sum(self.inputs.values()):,}: {kinds}",
                f"refused        {sum(self.errors.values()):,}: {said}",
                f"accepted       {self.accepted:,} (the damage does not matter, or is a value)",
                f"other errors   {len(self.bad)}",
                f"slowest        {self.slowest:.2f} s",
                f"largest        {self.largest} MB for a process",
                *self.bad[:40],
            ]
        )


class Sound:
    """Whole inputs, made once, to be damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _large()  # made once, before anything is forked
        self.store = folder / "clinic.db"
        make_store(self.store)
        table = np.random.default_rng(0).integers(0, 2, (40, 6))
        self.frame = pd.DataFrame(table, columns=[f"c{i}" for i in range(6)])
        self.frame["real"] = np.linspace(0, 1, 40)
        self.parquet = folder / "data.parquet"
        self.frame.to_parquet(self.parquet)
        self.packed = folder / "data.cells"
        pack(self.parquet, self.packed)
        # kernels for real values are compiled here, not in a child that is timed
        with suppress(ThriftyError):
            thrifty.Lifetime(thrifty.Trees(max_depth=2)).learn("t", self.frame, [0, 1] * 20)
        with sqlite3.connect(self.store) as connection:
            named = "SELECT name FROM sqlite_master WHERE type = 'table'"
            tables = [name for (name,) in connection.execute(named)]
            columns = {t: connection.execute(f"PRAGMA table_info({t})").fetchall() for t in tables}
            self.fields = [(table, column[1]) for table in tables for column in columns[table]]


def make_store(path: Path) -> None:
    provider = FakeProvider()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), prices=0, store=path, budget=AMPLE)
    for n, name in enumerate(("one", "two")):
        lab = provider.source(IDS, FEATURES, prices=PRICES, name="lab")
        life.learn(name, lab, [provider.value(e, f"f{n}") for e in IDS])
    X = np.random.default_rng(1).integers(0, 2, (50, 5)).astype(bool)
    life.learn("array", thrifty.Source.from_array(X, feature_names=FEATURES), X[:, 1] & X[:, 2])
    cut = FakeProvider(faults=lambda n: "error-after")
    late = cut.source(["new", "newer"], FEATURES, prices=PRICES, name="lab")
    for rows in ([0], [1]):
        with suppress(PurchaseInDoubt):
            Cells(late, ledger=life.ledger, task="three").get(rows, [0, 2])
    life.ledger.book.store.close()


# -- damage ----------------------------------------------------------------------------------------


def in_bytes(data: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, a part cut out, or the end cut off."""
    data = bytearray(data)
    how = chance.randrange(4)
    if how == 0:
        del data[chance.randrange(len(data)) :]
    elif how == 1:
        at = chance.randrange(len(data))
        del data[at : at + chance.randrange(1, 200)]
    else:
        for _ in range(chance.choice((1, 1, 3, 20, 200))):
            data[chance.randrange(len(data))] = chance.choice((0, 255, chance.randrange(256)))
    return bytes(data)


@lru_cache(maxsize=1)
def _large() -> bytes:
    head = json.dumps({"known": ["u1", [400 << 20]]}).encode()
    packer = zlib.compressobj(1)
    parts = [packer.compress(len(head).to_bytes(4, "little") + head)]
    parts += [packer.compress(bytes(1 << 22)) for _ in range(100)]
    return b"".join([*parts, packer.flush()])


def bomb(chance: random.Random) -> bytes:
    """A small block that unpacks to 400 megabytes, or claims to be far larger."""
    shape = chance.choice(([1 << 33], [1 << 31, 2], [-1], [1 << 62], ["x"], 5))
    head = json.dumps({"numbers": ["u1", shape], "known": ["u1", shape]}).encode()
    raw = len(head).to_bytes(4, "little") + head
    if chance.random() < 0.3:
        return _large()
    return zlib.compress(raw)


def mutated_json(text: str, chance: random.Random) -> str:
    """One value somewhere inside replaced by an odd one."""
    data = json.loads(text)
    holder, key = {"": data}, ""
    while isinstance(holder[key], dict | list) and holder[key] and chance.random() < 0.8:
        holder = holder[key]
        key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if isinstance(holder, dict) and chance.random() < 0.3:
        del holder[key]
    else:
        holder[key] = chance.choice([v for v in ODD if not isinstance(v, bytes)])
    root = data if holder is not None else None
    return json.dumps(root)


# -- kinds of input --------------------------------------------------------------------------------


def use_store(path: Path) -> None:
    """Whatever people do with a store that they were given."""
    life = thrifty.Lifetime.open(path)
    _ = [str(one.model) for one in life.tasks], life.bill(), life.balance(), str(life)
    waiting = life.ledger.open_purchases()
    _ = [str(p) for p in waiting]
    read_store(str(path))
    lab = FakeProvider().source(IDS, FEATURES, prices=PRICES, name="lab")
    Cells(lab, ledger=life.ledger, task="mine").get(range(10), [0, 1, 2])
    for p in waiting:
        life.ledger.resolve(p.id, "not-billed")
    for command in (["tasks"], ["bill"], ["show"], ["resolve"], ["export"]):
        more = {"show": ["one"], "export": ["--out", str(path.with_suffix(".json"))]}
        run_command([command[0], str(path), *more.get(command[0], [])])


def run_command(words: list[str]) -> None:
    result = CliRunner().invoke(COMMAND, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception


def a_field_of_a_store(sound: Sound, place: Path, chance: random.Random) -> None:
    path = place / "s.db"
    shutil.copy(sound.store, path)
    table, column = chance.choice(sound.fields)
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    if rows:
        rowid, old = chance.choice(rows)
        value = chance.choice([*ODD, bomb(chance), bomb(chance)])
        if isinstance(old, str) and old.startswith(("{", "[")) and chance.random() < 0.7:
            value = mutated_json(old, chance)
        elif isinstance(old, bytes) and chance.random() < 0.6:
            value = in_bytes(old, chance) if chance.random() < 0.4 else mutated_block(old, chance)
        if isinstance(value, list | dict | bool):
            value = json.dumps(value)
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))
            connection.commit()
        except (sqlite3.Error, OverflowError, UnicodeError):
            connection.rollback()  # the column does not take it
    connection.close()
    use_store(path)


def mutated_block(block: bytes, chance: random.Random) -> bytes:
    """A block of arrays with an odd header, compressed as it should be."""
    raw = zlib.decompress(block)
    length = int.from_bytes(raw[:4], "little")
    head = mutated_json(raw[4 : 4 + length].decode(), chance).encode()
    return zlib.compress(len(head).to_bytes(4, "little") + head + raw[4 + length :])


def bytes_of_a_store(sound: Sound, place: Path, chance: random.Random) -> None:
    path = place / "s.db"
    path.write_bytes(in_bytes(sound.store.read_bytes(), chance))
    use_store(path)


def a_schema_of_a_store(sound: Sound, place: Path, chance: random.Random) -> None:
    path = place / "s.db"
    shutil.copy(sound.store, path)
    connection = sqlite3.connect(path)
    for statement in chance.choice((
        ["CREATE VIEW v AS SELECT 1"],
        ["CREATE TRIGGER t AFTER INSERT ON tasks BEGIN DELETE FROM purchases; END"],
        ["ALTER TABLE lifetimes RENAME TO old", "CREATE VIEW lifetimes AS WITH RECURSIVE r(n) AS "
         "(SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"],
        ["DROP TABLE purchases"], ["PRAGMA user_version = 1"], ["PRAGMA user_version = 999"],
        ["PRAGMA application_id = 7"], ["DELETE FROM lifetimes"], ["DROP TABLE tasks"],
    )):  # fmt: skip
        connection.execute(statement)
    connection.commit()
    connection.close()
    use_store(path)


def use_packed(path: Path) -> None:
    source = Source.from_packed(path)
    _ = source.feature_names
    Cells(source).get(range(5), [0, 3, 6])


def a_packed_header(sound: Sound, place: Path, chance: random.Random) -> None:
    """The header says something else, under a right seal."""
    path = place / "d.cells"
    shutil.copytree(sound.packed, path)
    meta = json.loads(mutated_json((path / "meta.json").read_text(), chance))
    if isinstance(meta, dict):
        meta["seal"] = seal_of(meta)
    (path / "meta.json").write_text(json.dumps(meta))
    use_packed(path)


def bytes_of_a_packed_file(sound: Sound, place: Path, chance: random.Random) -> None:
    path = place / "d.cells"
    shutil.copytree(sound.packed, path)
    file = chance.choice(sorted(path.iterdir()))
    if file.stat().st_size:
        file.write_bytes(in_bytes(file.read_bytes(), chance))
        meta = json.loads((sound.packed / "meta.json").read_text())
        if file.name in meta["checksums"] and chance.random() < 0.6:  # and its checksum with it
            meta["checksums"][file.name] = zlib.crc32(file.read_bytes())
            meta["sizes"][file.name] = file.stat().st_size
            meta["seal"] = seal_of(meta)
            (path / "meta.json").write_text(json.dumps(meta))
    use_packed(path)


def a_parquet_file(sound: Sound, place: Path, chance: random.Random) -> None:
    path = place / "d.parquet"
    path.write_bytes(in_bytes(sound.parquet.read_bytes(), chance))
    source = Source.from_parquet(path)
    rows = range(min(source.n_examples, 10))
    Cells(source).get(rows, range(min(source.n_features, 7)))
    if chance.random() < 0.2:
        thrifty.Lifetime(thrifty.Trees(max_depth=2)).learn("t", source, [0, 1] * 20)


TASK_FILE = {
    "store": "s.db",
    "lifetime": "lifetime",
    "family": {"name": "Trees", "max_depth": 3},
    "source": {"csv": "data.csv", "id": "pid", "features": ["c0", "c1", "c2"]},
    "prices": {"c0": 1, "c1": "2 EUR", "c2": 0.5},
    "budget": {"total": "500 EUR"},
    "tasks": [{"name": "t", "label": "sick"}, {"name": "u", "labels": "labels.csv"}],
}
BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]" for i in range(20)
)


def a_task_file(sound: Sound, place: Path, chance: random.Random) -> None:
    table(sound, place)
    how = chance.random()
    if how < 0.7:
        text = mutated_json(json.dumps(TASK_FILE), chance)  # JSON is YAML
    elif how < 0.9:
        text = in_bytes(json.dumps(TASK_FILE, indent=1).encode(), chance).decode("latin-1")
    else:
        text = chance.choice((BOMB, "&a [*a]", DEEP, "store: " + "9" * 5000, "a: 2001-99-99",
                              "tasks: !!python/object/apply:os.system [ls]"))  # fmt: skip
    toml = chance.random() < 0.1
    path = place / ("t.toml" if toml else "t.yaml")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    run_command(["learn", str(path), "--json"])


def table(sound: Sound, place: Path) -> None:
    frame = sound.frame.assign(pid=[f"p{i}" for i in range(40)], sick=sound.frame["c1"])
    frame.to_csv(place / "data.csv", index=False)
    frame[["pid", "c2"]].to_csv(place / "labels.csv", index=False)
    (place / "t.yaml").write_text(json.dumps(TASK_FILE))


def a_csv_file(sound: Sound, place: Path, chance: random.Random) -> None:
    table(sound, place)
    path = place / chance.choice(("data.csv", "labels.csv"))
    data = in_bytes(path.read_bytes(), chance)
    if chance.random() < 0.2:
        at = chance.randrange(len(data))
        odd = chance.choice((b"\x00", b'"', b"9" * 5000, b"\xff\xfe", b"\r", b",,,,", b"1e999"))
        data = data[:at] + odd + data[at:]
    path.write_bytes(data)
    run_command(["learn", str(place / "t.yaml"), "--json"])


def values_for_a_purchase(sound: Sound, place: Path, chance: random.Random) -> None:
    path = place / "s.db"
    shutil.copy(sound.store, path)
    life = thrifty.Lifetime.open(path)
    p = life.ledger.open_purchases()[0]
    life.ledger.book.store.close()
    good = ",".join(["id", *p.features]) + "\n" + "\n".join(f"{e},1,0" for e in p.examples)
    (place / "v.csv").write_bytes(in_bytes(good.encode(), chance))
    number = chance.choice((str(p.id), "0", "-1", "9" * 30, "x"))
    run_command(["resolve", str(path), number, "--billed", "--values", str(place / "v.csv")])


def an_address(sound: Sound, place: Path, chance: random.Random) -> None:
    """A request to the dashboard: any status below 500 is an answer."""
    path = place / "s.db"
    shutil.copy(sound.store, path)
    watcher = Watcher(Reader(str(path)).look)
    watcher.look_once()
    site = Guard(make_app(watcher, "life.db"), PORT, TOKEN)
    base = f"http://127.0.0.1:{PORT}"
    odd = ["0", "8", "7", "-1", "0000000000008", "9" * 30, "9" * 5000, "٣", "x", "%00", "..%2f..",
           "%ff%fe", "true", "<script>", "'; DROP TABLE tasks; --", "1e3", "%ud800"]  # fmt: skip
    where = chance.choice(
        ("/", "/live", "/tasks", "/tasks/{}", "/pictures/{}.svg", "/static/{}", "/{}")
    )
    names = chance.sample(["sort", "page", "text", "route", "down", "outcome", "x"], 3)
    query = "&".join(f"{name}={chance.choice(odd)}" for name in names)
    address = where.format(chance.choice(odd)) + (f"?{query}" if chance.random() < 0.8 else "")
    method = chance.choice(("GET", "GET", "GET", "POST", "HEAD", "PUT"))
    headers = {"origin": base} if chance.random() < 0.7 else {}

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(site), base_url=base) as client:
            body = chance.choice((b"outcome=billed", b"outcome=", b"\xff" * 5000, b""))
            return await client.request(
                method, address, headers=headers, content=body, cookies={f"thrifty_{PORT}": TOKEN}
            )

    try:
        status = asyncio.run(ask()).status_code
    except httpx.InvalidURL:
        return  # it never got there
    if status >= 500:
        raise AssertionError(f"{method} {address[:80]}: status {status}")


KINDS = {
    a_field_of_a_store: 500, bytes_of_a_store: 200, a_schema_of_a_store: 50, a_packed_header: 300,
    bytes_of_a_packed_file: 150, a_parquet_file: 250, a_task_file: 250, a_csv_file: 100,
    values_for_a_purchase: 50, an_address: 150,
}  # fmt: skip


# -- the run ---------------------------------------------------------------------------------------


def one(kind, sound: Sound, number: int) -> dict:
    chance = random.Random(f"{kind.__name__} {number}")
    place = Path(tempfile.mkdtemp(dir=sound.folder))
    begun, said = time.monotonic(), "accepted"
    signal.alarm(6 * SECONDS)
    try:
        kind(sound, place, chance)
    except ThriftyError as error:
        said = type(error).__name__
    except BaseException as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"!{type(error).__name__}: {str(error)[:100]!r} at {where.filename}:{where.lineno}"
    signal.alarm(0)
    seconds = time.monotonic() - begun
    shutil.rmtree(place, ignore_errors=True)
    return {"said": said, "seconds": seconds}


def batch(kind, sound: Sound, numbers: range) -> tuple[list[dict], int]:
    """Some inputs in a forked child: (what came of each, its largest memory in MB)."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        for number in numbers:
            os.write(writes, json.dumps(one(kind, sound, number)).encode() + b"\n")
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        os.write(writes, json.dumps({"memory": used}).encode() + b"\n")
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as told:
        lines = [json.loads(line) for line in told]
    _, status = os.waitpid(pid, 0)
    if status:
        ended = os.waitstatus_to_exitcode(status)
        return [*lines, {"said": f"!the process ended with {ended}", "seconds": 0.0}], 0
    return lines[:-1], lines[-1]["memory"]


def run(n: int, folder: Path) -> Found:
    """So many inputs, in the shares of KINDS."""
    import logging
    import warnings

    logging.disable()
    warnings.simplefilter("ignore")
    found, sound, whole = Found(), Sound(folder), sum(KINDS.values())
    for kind, share in KINDS.items():
        count, at = max(1, round(n * share / whole)), 0
        name = kind.__name__.replace("_", " ")
        while at < count:
            numbers = range(at, min(at + 25, count))
            results, memory = batch(kind, sound, numbers)
            for number, result in zip(numbers, results):
                found.inputs[name] += 1
                found.slowest = max(found.slowest, result["seconds"])
                if result["said"].startswith("!"):
                    found.bad.append(f"{name} {number}: {result['said'][1:]}")
                elif result["said"] == "accepted":
                    found.accepted += 1
                else:
                    found.errors[result["said"]] += 1
                if result["seconds"] > SECONDS:
                    found.bad.append(f"{name} {number}: took {result['seconds']:.1f} s")
            found.largest = max(found.largest, memory)
            if memory > MEGABYTES:
                found.bad.append(f"{name} {numbers}: {memory} MB")
            at += max(len(results), 1)  # after a crash, go on behind the one that crashed
    return found


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        outcome = run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(textwrap.dedent(str(outcome)))
    sys.exit(1 if outcome.bad else 0)
