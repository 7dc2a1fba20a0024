"""The provider as a language model: chat completions, and batches of them, billed by the token."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.tribunal.rooms import READ, WRITTEN, truth
from thrifty.typing import Fields

if TYPE_CHECKING:
    from tests.tribunal.provider_process import Biller

_CASE = re.compile(r"Case (p\d+)\.")
_ASKED = re.compile(r"^(\d+)\. Is (f\d) so\?", re.M)

Told = tuple[int, object]


class Chat:
    """What it says to each request: (status, body); status 0 is a connection that is cut."""

    def __init__(self, biller: Biller) -> None:
        self.biller = biller
        self._files: dict[str, str] = {}
        self._batches: dict[str, Fields] = {}

    def asked(self, path: str, raw: bytes) -> Told:
        """Work: one prompt, a file of many, or the order to answer that file."""
        fault, seconds = self.biller.fault()
        self.biller.wait(seconds)
        if fault in ("refused", "cut"):
            with self.biller.lock:
                self.biller.write({"fault": fault})
            return (503, {}) if fault == "refused" else (0, {})
        if path.endswith("/files"):
            lines = [x for x in raw.decode().splitlines() if x.startswith("{")]
            return 200, {"id": self._keep("\n".join(lines))}
        if path.endswith("/batches"):
            told = self._batch(json.loads(raw))
        else:
            told = self._complete(json.loads(raw), fault, READ, WRITTEN)
        return (0, {}) if fault == "cut after" else (200, told)

    def looked_at(self, path: str) -> Told:
        """A batch, or a file of its answers; now and then there is no look to be had."""
        fault, _ = self.biller.fault()
        if fault:
            return {"refused": 503, "malformed": 429}.get(fault, 0), {}
        name = path.rstrip("/").split("/")
        if path.endswith("/content"):
            return 200, self._files[name[-2]]
        state = self._batches[name[-1]]
        state["looks"] += 1
        return 200, {**state, "status": "completed" if state["looks"] > 1 else "in_progress"}

    def _keep(self, text: str) -> str:
        with self.biller.lock:
            name = f"file-{len(self._files)}"
            self._files[name] = text
        return name

    def _batch(self, order: Fields) -> Fields:
        """Each request of a batch is answered, refused, or worked on and in no file."""
        good, bad = [], []
        for line in map(json.loads, self._files[order["input_file_id"]].splitlines()):
            fault, _ = self.biller.fault()
            end = {"custom_id": line["custom_id"], "error": None}
            if fault in ("refused", "cut"):
                bad.append({**end, "response": {"status_code": 429, "body": {}}})
                continue
            body = self._complete(line["body"], fault, READ // 2, WRITTEN // 2)
            if fault != "cut after":
                good.append({**end, "response": {"status_code": 200, "body": body}})
        state: Fields = {"looks": 0, "output_file_id": None, "error_file_id": None}
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                state[name] = self._keep("\n".join(map(json.dumps, reversed(lines))))
        with self.biller.lock:
            id = f"batch-{len(self._batches)}"
            self._batches[id] = {"id": id, **state}
        return {"id": id, "status": "validating"}

    def _complete(self, body: Fields, fault: str, read_price: int, written_price: int) -> Fields:
        """Answer one prompt, and write down what it costs."""
        prompt = body["messages"][0]["content"]
        example = _CASE.search(prompt).group(1)  # type: ignore[union-attr]
        asked = _ASKED.findall(prompt)
        said = json.dumps({number: truth(example, name) for number, name in asked})
        written = "I would rather not say." if fault == "malformed" else said
        n_read, n_written = len(prompt.encode()) // 4, len(written) // 4
        amount = read_price * n_read + written_price * n_written
        self.biller.note([example], [name for _, name in asked], amount, fault)
        return {
            "model": body["model"],
            "choices": [{"message": {"role": "assistant", "content": written}}],
            "usage": {"prompt_tokens": n_read, "completion_tokens": n_written},
        }
