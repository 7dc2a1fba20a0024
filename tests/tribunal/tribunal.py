"""Who is killed and paused when, who resolves what, and the verdict."""

from __future__ import annotations

import mmap
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.tribunal.history import Judgement, again_too_early, most_billed, not_asked_again
from tests.tribunal.provider_process import Faults, begin_billing, read_log, tell
from tests.tribunal.rooms import (
    FEATURES,
    WARD_CELL,
    WORDS,
    Room,
    amount,
    make_room,
    said,
    source_named,
    truth,
)
from tests.tribunal.worker import (
    STATES,
    doctor_of,
    open_lifetime,
    prepare,
    run_worker,
    source_of,
    ward_of,
    warm_up,
    write_note,
)
from thrifty.cells import Budget, Cells, Source
from thrifty.cells.ledger.compacted import read_column
from thrifty.cells.ledger.ledger import OpenPurchase
from thrifty.errors import BadInput, CostAboveReservation, PurchaseInDoubt
from thrifty.lifetime.lifetime import Lifetime
from thrifty.typing import AnyArray, Fields

#: in gentle rooms: calls of the provider between two kills, tasks and predictions of a room
_CALLS_PER_KILL = 12
_TASKS_OF_A_ROOM = 15


class Tribunal:
    """Kill, pause, cut, refuse; then compare the provider's bill with the ledger.

    Parameters
    ----------
    kills : int
        how many processes are killed that had called the provider already
    pauses : int
        how often a process is stopped and goes on later
    tasks, predictions : int
        how many of each come to their end, at least
    workers : int
        how many processes buy at once, from 4 to this many
    faults : Faults or None
        how often calls end badly
    new_database : callable or None
        gives the URL of an empty PostgreSQL database; None: SQLite alone
    restart : callable or None
        crashes the database server and starts it again, now and then
    seconds : float
        no new room is begun after so long
    seed : int
        the same rooms and faults again; the moments are the machine's
    chosen : object
        ``provider=``, ``money=`` and ``tight=`` (a budget) fix the kind of every room

    Examples
    --------
    >>> Tribunal(kills=2000, pauses=1000).run()                     # doctest: +SKIP
    """

    def __init__(
        self,
        kills: int = 20,
        pauses: int = 10,
        *,
        tasks: int = 0,
        predictions: int = 0,
        workers: int = 6,
        n_examples: int = 120,
        faults: Faults | None = None,
        new_database: Callable[[], str] | None = None,
        restart: Callable[[], None] | None = None,
        seed: int = 0,
        folder: Path | None = None,
        progress: Callable[[Judgement], None] | None = None,
        seconds: float = float("inf"),
        **chosen: Any,
    ) -> None:
        self.kills, self.pauses, self.workers = kills, pauses, workers
        self.tasks, self.predictions = tasks, predictions
        self.n_examples, self.faults = n_examples, faults or Faults()
        self.new_database, self.restart = new_database, restart
        self.chance, self.chosen = random.Random(seed), chosen
        self.folder, self.progress = folder, progress
        self.until = time.monotonic() + seconds
        self.verdict = Judgement()

    def run(self) -> Judgement:
        """Rooms until there were kills and pauses enough."""
        warm_up()
        shm = Path("/dev/shm")
        base = self.folder or Path(tempfile.mkdtemp(dir=shm if shm.is_dir() else None))
        try:
            n = 0
            while (self.killed_too_few or self.learned_too_few) and time.monotonic() < self.until:
                self._room(base / f"room-{n}", n)
                n += 1
                if self.progress is not None:
                    self.progress(self.verdict)
        finally:
            if self.folder is None:
                shutil.rmtree(base, ignore_errors=True)
        return self.verdict

    @property
    def killed_too_few(self) -> bool:
        return self.verdict.kills < self.kills or self.verdict.pauses < self.pauses

    @property
    def learned_too_few(self) -> bool:
        verdict = self.verdict
        return verdict.tasks < self.tasks or verdict.predictions < self.predictions

    def _room(self, folder: Path, n: int) -> None:
        folder.mkdir(parents=True)
        postgres = self.new_database is not None and n % 2 == 1
        where = str(folder / "clinic.db")
        if postgres and self.new_database is not None:
            where = self.new_database()
        chosen = dict(self.chosen)
        if self.tasks:  # what is lacking most
            chosen.setdefault("gentle", self.learned_too_few and n % 4 < 2)
        room = make_room(where, folder / "bill.log", self.chance, self.n_examples, **chosen)
        faults = self.faults.scaled(0.15) if room.gentle else self.faults
        biller, port = begin_billing(room, faults, self.chance.randrange(1 << 30))
        room = replace(room, port=port)
        self.verdict.rooms[f"{'PostgreSQL' if postgres else 'SQLite'}"] += 1
        self.verdict.rooms[room.provider] += 1
        self.verdict.rooms[f"money: {room.money}"] += 1
        self.verdict.rooms["wards"] += room.wards
        self.verdict.jumping_rooms += room.jumps
        try:
            session = _Session(self, room, folder / "notes", postgres)
            session.run()
        finally:
            os.kill(biller, signal.SIGKILL)
            os.waitpid(biller, 0)
            shutil.rmtree(folder, ignore_errors=True)


class _Session:
    """One room from its first worker to its verdict."""

    def __init__(self, tribunal: Tribunal, room: Room, notes: Path, postgres: bool) -> None:
        self.of, self.room, self.notes, self.postgres = tribunal, room, notes, postgres
        self.chance, self.verdict = tribunal.chance, tribunal.verdict
        self.state = mmap.mmap(-1, tribunal.workers + 1)  # a byte for each, and one to stop all
        self.living: dict[int, int] = {}
        self.paused: dict[int, float] = {}
        self.user = 0  # the process that resolves at this moment
        self.killed = 0

    def run(self) -> None:
        open_lifetime(self.room, self.room.limit)
        prepare(self.room)
        n_workers = self.chance.randint(min(4, self.of.workers), self.of.workers)
        until = time.monotonic() + (60 if self.room.gentle else 20)
        ticks = 0
        while not self._enough(until, ticks):
            ticks += 1
            self._fill(n_workers)
            time.sleep(self.chance.uniform(0.0, 0.02))
            self._reap()
            self._resume()
            act = self.chance.random()
            if act < 0.4:
                self._kill()
            elif act < (0.45 if self.room.gentle else 0.7):
                self._pause()
            elif act < 0.75:
                self._begin_to_resolve()
        if self.postgres and self.of.restart is not None and self.chance.random() < 0.25:
            self._fill(n_workers)
            time.sleep(0.3)
            self.of.restart()
            self.verdict.restarts += 1
        self._end_all()
        self._judge()

    def _enough(self, until: float, ticks: int) -> bool:
        """The room is over when nearly everything is bought, or the time is up."""
        of = self.of
        if not of.killed_too_few and not of.learned_too_few:
            return True
        if time.monotonic() > until:
            return True
        if ticks % 25:
            return False
        if self.room.gentle:
            kinds = Counter(note["kind"] for note in read_log(self.notes))
            return min(kinds["learned"], kinds["predicted"]) >= _TASKS_OF_A_ROOM
        bills = [line for line in read_log(self.room.log) if "amount" in line]
        billed = {(e, f) for b in bills for e in b["ids"] for f in b["names"]}
        nearly = 0.85 * self.room.n_examples * len(FEATURES)
        full = self.room.budget is not None and most_billed(bills) > 0.97 * self.room.budget
        return len(billed) > nearly or full

    # -- processes ----------------------------------------------------------------------------

    def _fill(self, n_workers: int) -> None:
        taken = set(self.living.values())
        for slot in [s for s in range(n_workers) if s not in taken]:
            self.state[slot] = 0
            seed = self.chance.randrange(1 << 30)
            pid = os.fork()
            if pid == 0:
                run_worker(self.room, slot, self.state, seed, self.notes)
            self.living[pid] = slot

    def _reap(self) -> None:
        for pid in list(self.living):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self._gone(pid, os.waitstatus_to_exitcode(status))

    def _gone(self, pid: int, code: int) -> None:
        del self.living[pid]
        self.paused.pop(pid, None)
        if code not in (0, -signal.SIGKILL, 3):
            self.verdict.strangers.append(f"a worker ended with {code}")

    def _begun(self) -> list[int]:
        return [pid for pid, slot in self.living.items() if self.state[slot]]

    def _kill(self) -> None:
        begun = self._begun()
        if not begun or (self.room.gentle and self.killed > self._progress() / _CALLS_PER_KILL):
            return
        self.killed += 1
        calling = [pid for pid in begun if self.state[self.living[pid]] == 2]
        victim = self.chance.choice(calling if calling and self.chance.random() < 0.5 else begun)
        when = STATES[self.state[self.living[victim]]]
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGKILL:
            self.verdict.kills += 1
            self.verdict.kills_when[when] += 1
        self._gone(victim, code)

    def _progress(self) -> float:
        """About how many calls were made; by work, not by the clock, which a busy machine slows."""
        return self.room.log.stat().st_size / 120 if self.room.log.exists() else 0

    def _pause(self) -> None:
        running = [pid for pid in self._begun() if pid not in self.paused]
        if running:
            victim = self.chance.choice(running)
            os.kill(victim, signal.SIGSTOP)
            long = self.chance.random() < 0.1
            seconds = self.chance.uniform(0.5, 1.5) if long else self.chance.uniform(0.005, 0.2)
            self.paused[victim] = time.monotonic() + seconds
            self.verdict.pauses += 1

    def _resume(self, everybody: bool = False) -> None:
        for pid, until in list(self.paused.items()):
            if everybody or time.monotonic() > until:
                os.kill(pid, signal.SIGCONT)
                del self.paused[pid]

    def _end_all(self) -> None:
        self.state[-1] = 1
        self._resume(everybody=True)
        until = time.monotonic() + 300  # on a busy machine a task may take minutes
        while self.living and time.monotonic() < until:
            self._reap()
            time.sleep(0.005)
        for pid in list(self.living):
            self.verdict.strangers.append("a worker hangs")
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._gone(pid, 0)
        if self.user:
            os.waitpid(self.user, 0)
            self.user = 0

    # -- the user -----------------------------------------------------------------------------

    def _bills(self) -> list[Fields]:
        return [line for line in read_log(self.room.log) if "amount" in line]

    def _begin_to_resolve(self) -> None:
        """In a process of its own: it may have to wait for somebody whom only we let go on."""
        if self.user and os.waitpid(self.user, os.WNOHANG)[0]:
            self.user = 0
        if self.user:
            return
        self.user = os.fork()
        if self.user == 0:
            try:
                self._resolve()
            except BaseException:
                write_note(self.notes, "stranger", traceback.format_exc())
            finally:
                os._exit(0)

    def _given_up(self) -> Counter[tuple[str, str]]:
        return self._noted("given up")

    def _noted(self, kind: str) -> Counter[tuple[str, str]]:
        noted = [note["text"] for note in read_log(self.notes) if note["kind"] == kind]
        return Counter((example, name) for cells in noted for example, name in cells)

    def _resolve(self) -> None:
        """What a truthful user does: look every open purchase up at the provider.

        The list first; then the provider finishes what it has begun; then its bill.
        """
        room = self.room
        life = open_lifetime(room, room.limit)
        waiting = life.ledger.open_purchases()
        if waiting:
            tell(room.port, "quiet")
        bills = self._bills()
        for purchase in waiting:
            self._resolve_one(life, purchase, bills)
        life.close()

    def _resolve_one(self, life: Lifetime, purchase: OpenPurchase, bills: list[Fields]) -> None:
        room = self.room
        examples = [key.split()[0] for key in purchase.examples]
        features = [room.feature_of(name) for name in purchase.features]
        cells = [(e, f) for e in examples for f in features]
        if room.provider == "keyed":
            part = "#" in purchase.key  # its key has answered, and said that it cannot tell
            if purchase.status == "doubt" and not part:
                return  # it resolves itself when somebody asks again
            billed = purchase.status != "doubt" or bool(self._own_bills(purchase, cells, bills))
        else:
            billed = purchase.status != "doubt" or self._was_billed(purchase, cells, bills)
        values = [[said(room, e, f) for f in features] for e in examples]
        cost = self._real_cost(purchase, cells, bills)
        try:
            if not billed:
                life.ledger.resolve(purchase.id, "not-billed")
                write_note(self.notes, "resolved", "not billed")
            elif room.money in ("flat", "two prices") and purchase.id % 10 == 0:
                life.ledger.resolve(purchase.id, "billed", cost=cost)
                write_note(self.notes, "given up", cells)
                write_note(self.notes, "resolved", "given up")
            else:
                life.ledger.resolve(purchase.id, "billed", values, cost=cost)
                write_note(self.notes, "resolved", "billed")
                self._note_what_was_not_billed(purchase, cells, bills)
        except BadInput:  # somebody was quicker
            write_note(self.notes, "resolved", "too late")

    def _note_what_was_not_billed(
        self, purchase: OpenPurchase, cells: list[tuple[str, str]], bills: list[Fields]
    ) -> None:
        """Of a call whose answer nobody heard one example may have failed and cost nothing."""
        mine = self._own_bills(purchase, cells, bills)
        if self.room.parts and purchase.status == "doubt" and mine:
            off = [(e, f) for e, f in cells if e not in mine[-1]["ids"]]
            write_note(self.notes, "not on the bill", off)

    def _real_cost(
        self, purchase: OpenPurchase, cells: list[tuple[str, str]], bills: list[Fields]
    ) -> str | None:
        """What the provider's log says that a purchase cost; None where it is what was said."""
        if self.room.says == "no" or purchase.status != "doubt":
            return None
        mine = self._own_bills(purchase, cells, bills)
        if not mine:
            return None
        return amount(sum(mine[-1]["costs"].get(e, 0) for e in {e for e, _ in cells}))

    def _own_bills(
        self, purchase: OpenPurchase, cells: list[tuple[str, str]], bills: list[Fields]
    ) -> list[Fields]:
        """Bills of any of its cells; with keys those of its call."""
        examples, name = {e for e, _ in cells}, cells[0][1]
        mine = [b for b in bills if examples & set(b["ids"]) and name in b["names"]]
        if self.room.provider != "keyed":
            return mine
        return [b for b in mine if b["key"] == purchase.key.split("#")[0]]

    def _was_billed(
        self, purchase: OpenPurchase, cells: list[tuple[str, str]], bills: list[Fields]
    ) -> bool:
        """While a purchase is open nobody else may buy its cells: a later bill is its own."""
        if self.room.parts or (self.room.valid and self.room.jumps):
            # a bill may have been for nothing; and no clock of a worker says when it was
            name, off = cells[0][1], self._noted("not on the bill")
            return any(
                sum(e in b["ids"] and name in b["names"] for b in bills)
                > self._written_down(e, name) - off[e, name]
                for e in {e for e, _ in cells}
            )
        if self.room.valid:
            since = [b for b in bills if b["t"] >= purchase.created_at]
            return any(cells[0][0] in b["ids"] and cells[0][1] in b["names"] for b in since)
        times = sum(cells[0][0] in b["ids"] and cells[0][1] in b["names"] for b in bills)
        return times > self._given_up()[cells[0]]

    def _written_down(self, example: str, feature: str) -> int:
        """How many bills of a cell the ledger knows the end of."""
        ended = ("settled", "failed", "lost", "late", "malformed", "changed")

        def work(pages: Any) -> int:
            e = int(pages.numbers("example", [example])[0])
            f = int(pages.numbers("feature", [feature], source_named(feature))[0])
            return sum(
                p.status in ended
                and e in p.block.examples.tolist()
                and f in p.block.features.tolist()
                for p in pages.purchases()
            )

        life = open_lifetime(self.room, self.room.limit)
        found: int = life.ledger.book.read(work)
        life.close()
        return found

    # -- the verdict --------------------------------------------------------------------------

    def _judge(self) -> None:
        room, verdict = self.room, self.verdict
        self._resolve()
        tell(room.port, "quiet")
        tell(room.port, "calm")
        waiting = self._waiting()
        spent, reserved, left, wrong = self._buy_everything()
        self._reconcile()
        self._expired_is_bought_again(waiting)
        lines = read_log(room.log)
        bills = [line for line in lines if "amount" in line]
        derived = {"f1"} if room.money == "derived" else set()
        twice, unknown = again_too_early(bills, room.valid, self._given_up(), derived)
        if room.jumps and room.valid:  # by a clock that was turned ahead, it had expired
            twice = [t for t in twice if t.split()[1] not in room.valid]
            unknown = [t for t in unknown if t.split()[1] not in room.valid]
        label = self._label
        verdict.findings += [f"{label}paid twice: {t}" for t in twice]
        verdict.findings += [f"{label}unknown: {t}" for t in unknown]
        verdict.twice += len(twice)
        verdict.unknown += len(unknown)
        verdict.wrong += wrong
        verdict.open_at_the_end += left
        over_list = room.says == "above"  # then it is named on the balance: spent, and over
        if room.budget is not None and not over_list and most_billed(bills) > room.budget:
            verdict.over += 1
            verdict.findings.append(f"{label}{most_billed(bills)} billed of {room.budget}")
        billed = sum(bill["amount"] for bill in bills)
        if reserved or (self._comparable and spent != billed):
            verdict.money += 1
            verdict.findings.append(f"{label}{spent} spent, {reserved} reserved, {billed} billed")
        verdict.billed += billed
        verdict.cells += sum(len(b["ids"]) * len(b["names"]) for b in bills)
        verdict.faults.update(line["fault"] for line in lines if line.get("fault"))
        verdict.calls += sum("amount" in line or line.get("fault") != "slow" for line in lines)
        for note in read_log(self.notes):
            if note["kind"] == "resolved":
                verdict.resolved[note["text"]] += 1
            elif note["kind"] == "learned":
                verdict.tasks += 1
            elif note["kind"] == "predicted":
                verdict.predictions += 1
            elif note["kind"] == "wrong":
                verdict.wrong += 1
                verdict.findings.append(f"{label}wrong: {note['text']}")
            elif note["kind"] == "stranger":
                verdict.strangers.append(note["text"])

    def _buy_everything(self) -> tuple[int, int, int, int]:
        """At the end everything is bought once more, without faults: what was known costs nothing.

        (spent, reserved, purchases still open, wrong values)
        """
        room = self.room
        self._limits_hold()
        if room.valid:  # what expires has expired by now
            time.sleep(max(room.valid.values()) + 0.1)
        life = open_lifetime(room, Budget(total=10**9))
        if room.jumps and room.valid:  # later than any clock of a worker
            life.ledger.clock = lambda: time.time() + 200_000
        source = source_of(room, 0, max_examples=None, timeout=60, attempts=3)
        values = self._all_values(life, source, range(len(FEATURES)))
        wrong = self._wrong_labels(life)
        for i, example in enumerate(room.examples):
            for j, f in enumerate(FEATURES):
                want = said(room, example, f)
                wrong += values[i, j] != (WORDS.index(want) if isinstance(want, str) else want)
        balance = life.balance()
        left = len(life.ledger.open_purchases())
        owed = round((balance.spent + balance.over) * 1e6) - self._of_the_ward(life)
        life.close()
        return owed, round(balance.reserved * 1e6), left, int(wrong)

    def _of_the_ward(self, life: Lifetime) -> int:
        """What the table that all learners share has cost: each of its cells once."""

        def work(pages: Any) -> int:
            of = {n: source for n, (source, _) in pages.sources_of("feature").items()}
            some = [c for c in pages.columns("feature") if of[c.number] == "ward"]
            return sum(len(read_column(column).examples) for column in some)

        return WARD_CELL * int(life.ledger.book.read(work))

    def _wrong_labels(self, life: Lifetime) -> int:
        """Labels that were bought are there, and are what the doctor said."""
        bought: dict[str, set[str]] = {}
        for bill in self._bills():
            for name in set(bill["names"]) - set(FEATURES):
                bought.setdefault(name, set()).update(bill["ids"])
        wrong = 0
        for name, some in bought.items():
            examples = sorted(some)
            source = doctor_of(self.room, name).about(ward_of(examples), name)
            values = self._all_values(life, source, [0])[:, 0]
            wrong += sum(v != truth(e, name) for v, e in zip(values.tolist(), examples))
        return wrong

    def _all_values(self, life: Lifetime, source: Source, features: Sequence[int]) -> AnyArray:
        """Every cell; what is repeated under its key may say that it was billed too high, once."""
        while True:
            try:
                cells = Cells(source, ledger=life.ledger, task="the end")
                return cells.get(range(source.n_examples), features)
            except CostAboveReservation:
                continue  # its values are kept
            except PurchaseInDoubt:  # a key was asked again, and cannot tell of a part
                self._resolve()

    @property
    def _comparable(self) -> bool:
        """A key that another opener repeats is billed at that one's prices, or at the first's."""
        return not (self.room.provider == "keyed" and self.room.money == "two prices")

    @property
    def _label(self) -> str:
        return f"{self.room.label}, {'PostgreSQL' if self.postgres else 'SQLite'}: "

    def _limits_hold(self) -> None:
        """Before the calm: no limit was passed, in total, on a task, on an example."""
        room, verdict = self.room, self.verdict
        life = open_lifetime(room, room.limit)

        def work(pages: Any) -> tuple[int, int, int]:
            accounts = [sum(a) for a in pages.accounts().values()]
            numbers = pages.numbers("example", room.keys)
            costs = pages.example_costs(numbers[numbers >= 0])
            return sum(pages.balance(None)), max(accounts, default=0), int(costs.max(initial=0))

        found = life.ledger.book.read(work)
        life.close()
        for most, limit, what in zip(
            found, (room.budget, room.per_task, room.per_example), ("total", "task", "example")
        ):
            if limit is not None and most > limit:
                verdict.over += 1
                verdict.findings.append(f"{self._label}{most} of {limit} per {what}")

    def _waiting(self) -> set[str]:
        """Keys of purchases without an answer: at the end they are asked for again."""
        life = open_lifetime(self.room, self.room.limit)
        keys = {p.key for p in life.ledger.open_purchases() if p.status == "doubt"}
        life.close()
        return keys

    def _expired_is_bought_again(self, waiting: set[str]) -> None:
        """A value that had expired when everything was bought at the end was asked for again."""
        lines, room = read_log(self.room.log), self.room
        for name, stale in not_asked_again(lines, room.valid, room.examples, waiting).items():
            self.verdict.wrong += len(stale)
            self.verdict.findings.append(f"{self._label}{len(stale)} cells of {name} are stale")

    def _reconcile(self) -> None:
        """bill(), balance(), accounts, purchases and every receipt are one account."""
        verdict = self.verdict
        life = open_lifetime(self.room, None)
        spent, over = (round(x * 1e6) for x in (life.balance().spent, life.balance().over))
        rows = life._bill_rows()
        told, owed = (
            sum(round(float(str(row[column])) * 1e6) for row in rows) for column in ("cost", "over")
        )

        def work(pages: Any) -> tuple[int, int, int, int, Counter[str]]:
            some = pages.purchases()
            keys: Counter[str] = Counter()
            for p in some:
                keys[p.key.split("#")[0]] += p.spent + p.over
            numbers = pages.numbers("example", self.room.keys)
            each = int(pages.example_costs(numbers[numbers >= 0]).sum())
            return (
                sum(p.spent for p in some),
                sum(p.over for p in some),
                each,
                sum(s for _, s in pages.accounts().values()),
                keys,
            )

        bought, beyond, each, accounts, keys = life.ledger.book.read(work)
        ward = self._of_the_ward(life)
        facts = {"bill()": told, "purchases": bought + ward, "examples": each, "accounts": accounts}
        off = [f"{what} {n}" for what, n in facts.items() if n != spent]
        off += [f"over {beyond} and {owed} of {over}"] if not beyond == owed == over else []
        if self.room.provider == "keyed" and self._comparable:
            keys.subtract({bill["key"]: bill["amount"] for bill in self._bills()})
            off += [f"{n} more than was billed under key {key}" for key, n in keys.items() if n]
        for task in life.tasks:
            lines = sum(round(a * 1e6) for _, _, a in task.receipt.lines)
            if task.receipt.lines and abs(lines - round(task.receipt.cost * 1e6)) > 0:
                off.append(f"lines of {task.name}: {lines}")
        life.close()
        if off:
            verdict.bills += 1
            verdict.findings.append(f"{self._label}{spent} spent, but {', '.join(off[:3])}")
