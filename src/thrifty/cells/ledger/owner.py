"""Who is buying: enough to tell, from another process, whether the buyer is still at work."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache


class Process:
    """What a process holds in memory of its purchases; a simulated one stands in for this one.

    ``name`` is what :func:`me` says, None for the process itself.
    """

    name: str | None = None

    def __init__(self) -> None:
        #: keys of the purchases that are being made at this moment
        self.in_flight: set[str] = set()
        #: answers that could not be written
        self.unsaved: list[object] = []

    def knows(self, owner: str) -> bool | None:
        """Whether that process still runs; None where nobody can tell."""
        return _runs(owner)

    def forget(self) -> None:
        """A forked child holds nothing of its parent's."""
        self.in_flight.clear()
        self.unsaved.clear()


_THIS = Process()
_SIMULATED: ContextVar[Process] = ContextVar("thrifty_process", default=_THIS)


def process() -> Process:
    """The process that we are in."""
    return _SIMULATED.get()


@contextmanager
def simulated(one: Process) -> Iterator[None]:
    """What runs inside, and every task that it begins, is another process."""
    token = _SIMULATED.set(one)
    try:
        yield
    finally:
        _SIMULATED.reset(token)


_mine: tuple[int, str] = (0, "")
#: in the place of its start: a process that is there, and of which no more can be read
_THERE = "running"

os.register_at_fork(after_in_child=_THIS.forget)  # those are its parent's


def me() -> str:
    """This process: machine, process number, when it started, and a random part."""
    global _mine
    name = process().name
    if name is not None:
        return name
    pid = os.getpid()
    if _mine[0] != pid:  # a forked child is another buyer
        _mine = (pid, f"{_machine()}/{pid}/{_started(pid)}/{uuid.uuid4().hex}")
    return _mine[1]


def is_alive(owner: str) -> bool | None:
    """Whether that process still runs; None where it is on another machine."""
    return process().knows(owner)


def _runs(owner: str) -> bool | None:
    parts = owner.split("/")
    if len(parts) != 4 or not parts[1].isdecimal() or parts[0] != _machine():
        return None
    if owner == me():
        return True
    started = _started(int(parts[1]))
    # Of a process that may not be looked at no more is known than that it is there.
    return started == _THERE or started == parts[2] != ""


@lru_cache(maxsize=1)
def _machine() -> str:
    """Where process numbers mean the same: this boot, and this namespace of process numbers.

    Two containers may share a host name; each then has process numbers of its own, and would take
    the other's buyers for dead.
    """
    name = socket.gethostname().replace("/", "-")
    try:
        with open("/proc/sys/kernel/random/boot_id") as f:
            boot = f.read().strip()
        return f"{name}:{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:  # no /proc: the name is all there is
        return name


def _started(pid: int) -> str:
    """The start time of a process tells it from a later one with the same number."""
    try:
        fields = _stat(pid)
    except OSError:  # no /proc, or one that hides the processes of other users
        return _without_proc(pid)
    if fields[0] in (b"Z", b"X"):  # a dead child that nobody has waited for
        return ""
    return fields[19].decode()


def _stat(pid: int) -> list[bytes]:
    with open(f"/proc/{pid}/stat", "rb") as f:
        return f.read().rpartition(b")")[2].split()


def _without_proc(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return _THERE
