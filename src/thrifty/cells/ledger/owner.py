"""Who is buying: enough to tell, from another process, whether the buyer is still at work."""

from __future__ import annotations

import os
import socket
import uuid

__all__ = ["IN_FLIGHT", "is_alive", "me"]

#: keys of the purchases that this process is making at this moment
IN_FLIGHT: set[str] = set()

_mine: tuple[int, str] = (0, "")


def me() -> str:
    """This process: host, process number, when it started, and a random part."""
    global _mine
    pid = os.getpid()
    if _mine[0] != pid:  # a forked child is another buyer
        _mine = (pid, f"{socket.gethostname()}/{pid}/{_started(pid)}/{uuid.uuid4().hex}")
    return _mine[1]


def is_alive(owner: str) -> bool | None:
    """Whether that process still runs; None where it is on another machine."""
    host, pid, started, _ = owner.split("/")
    if host != socket.gethostname():
        return None
    if owner == me():
        return True
    return _started(int(pid)) == started != ""


def _started(pid: int) -> str:
    """The start time of a process tells it from a later one with the same number."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return ""
        return _without_proc(pid)
    except OSError:
        return ""
    if fields[0] in (b"Z", b"X"):  # a dead child that nobody has waited for
        return ""
    return fields[19].decode()


def _without_proc(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"
