"""A disk that forgets what was not synced, for SQLite, through apsw's file layer.

Written to memory. A write, a truncation or a deletion is only certain after the file (or, for a
deletion, its folder) was synced; before that each sector may or may not have reached the disk.
"""

import random

import apsw

SECTOR = 512


class MemoryFile:
    def __init__(self) -> None:
        self.content = bytearray()
        self.durable: bytes | None = None  # None: not even its name has reached the disk
        self.pending: list[tuple] = []

    def sync(self) -> None:
        self.durable = bytes(self.content)
        self.pending.clear()

    def survivor(self, chance: random.Random) -> bytes | None:
        """What is on the disk after a power cut: any part of what was not synced."""
        if self.durable is None and chance.random() < 0.5:
            return None
        data = bytearray(self.durable or b"")
        for op in self.pending:
            if op[0] == "truncate":
                if chance.random() < 0.5:
                    data = data[: op[1]].ljust(op[1], b"\0")
                continue
            _, offset, written = op
            for at in range(0, len(written), SECTOR):
                if chance.random() < 0.5:
                    piece = written[at : at + SECTOR]
                    data = data.ljust(offset + at, b"\0")
                    data[offset + at : offset + at + len(piece)] = piece
        return bytes(data)


class Disk:
    """Files by name, a count of operations, and the fault that comes at one of them.

    ``fault`` is "power" (from then on nothing works), "error" or "full" (this one operation, and
    ``lasting`` more of them, fail).
    """

    def __init__(self, fault: str = "", at: int = -1, lasting: int = 0) -> None:
        self.files: dict[str, MemoryFile] = {}
        self.gone: dict[str, MemoryFile] = {}  # deleted, and the folder not synced since
        self.fault, self.at, self.lasting = fault, at, lasting
        self.operations = 0
        self.hit = False

    def step(self, writing: bool = True) -> None:
        n = self.operations
        self.operations += 1
        if self.fault == "power" and n >= self.at >= 0:
            self.hit = True
            raise apsw.IOError("the power is gone")
        if self.fault in ("error", "full") and self.at <= n <= self.at + self.lasting:
            if self.fault == "full" and not writing:
                return
            self.hit = True
            raise apsw.FullError("simulated") if self.fault == "full" else apsw.IOError("simulated")

    def survivors(self, chance: random.Random) -> dict[str, bytes]:
        out = {}
        for name, file in [*self.gone.items(), *self.files.items()]:
            if name in self.gone and self.gone[name] is file and chance.random() < 0.5:
                continue
            data = file.survivor(chance)
            if data is not None:
                out[name] = data
        return out


class OpenFile:
    """What SQLite holds."""

    def __init__(self, disk: Disk, file: MemoryFile, counted: bool) -> None:
        self.disk, self.file, self.counted = disk, file, counted

    def _step(self, writing: bool = True) -> None:
        if self.counted:
            self.disk.step(writing)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._step(writing=False)
        return bytes(self.file.content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        self._step()
        content = self.file.content
        if len(content) < offset:
            content.extend(b"\0" * (offset - len(content)))
        content[offset : offset + len(data)] = data
        self.file.pending.append(("write", offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        self._step()
        del self.file.content[size:]
        self.file.pending.append(("truncate", size))

    def xSync(self, flags: int) -> None:
        self._step()
        self.file.sync()

    def xFileSize(self) -> int:
        return len(self.file.content)

    def xLock(self, level: int) -> None: ...
    def xUnlock(self, level: int) -> None: ...
    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return SECTOR

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xClose(self) -> None: ...


class FragileVFS(apsw.VFS):
    """The file layer over one disk."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, base="")

    def xOpen(self, name, flags):
        flags[1] = flags[0]
        if name is None:
            return OpenFile(self.disk, MemoryFile(), counted=False)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path not in self.disk.files:
            self.disk.step()
            self.disk.files[path] = MemoryFile()
        return OpenFile(self.disk, self.disk.files[path], counted=True)

    def xDelete(self, path, syncdir):
        self.disk.step()
        file = self.disk.files.pop(path, None)
        if file is not None and not syncdir:
            self.disk.gone[path] = file

    def xAccess(self, path, flags):
        return path in self.disk.files

    def xFullPathname(self, name):
        return name

    def xRandomness(self, n):
        return b"\x07" * n

    def xSleep(self, microseconds):
        return microseconds

    def xCurrentTime(self):
        return 2460000.5

    def xCurrentTimeInt64(self):
        return int(2460000.5 * 86400000)

    def xGetLastError(self):
        return (0, "")
