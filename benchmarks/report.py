"""How fast people can look: a report of 2,000 tasks, a dashboard over 10,000 tasks and 10 M cells.

    python benchmarks/report.py            both
    python benchmarks/report.py --json     the same for a program

The report is opened from disk in Chromium; the time runs until the table is filled and all pictures
are loaded. The dashboard is asked over HTTP, page by page, while it goes on watching its store.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import thrifty
from thrifty.report import report_page, view_of
from thrifty.stores import SQLiteStore
from thrifty.stores.pages import TaskRow

LIMIT_OPEN, LIMIT_BYTES, LIMIT_ANSWER = 3.0, 5_000_000, 0.200
PAGES = [
    "/", "/tasks", "/tasks/700", "/representation", "/ledger", "/doubt", "/api/live",
    "/api/tasks?sort=3&down=true", "/api/tasks?text=99&sort=1&page=2", "/api/tasks/700",
    "/api/representation", "/pictures/bill.svg", "/static/thrifty.css",
]  # fmt: skip
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def report(folder: Path, n_tasks: int) -> dict[str, Any]:
    """Learn, write the page, open it several times in a fresh window."""
    life = thrifty.Lifetime(thrifty.Trees(max_depth=5))
    stream = thrifty.streams.trees(n_tasks, 200, 12, 400, 5, random_state=0)
    for task in stream:
        life.learn(task.name, task.X, task.y)
    began = time.perf_counter()
    page = folder / "report.html"
    page.write_text(report_page(view_of(life)), encoding="utf-8")
    wrote = time.perf_counter() - began
    return {
        "tasks": n_tasks,
        "seconds_to_write": round(wrote, 2),
        "bytes": page.stat().st_size,
        "seconds_to_open": [round(s, 2) for s in open_page(page)],
    }


def open_page(page: Path, times: int = 5) -> list[float]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("no Chromium on this machine: as root on Debian, type 'make browser'")
    seconds = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for _ in range(times):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            window = context.new_page()
            began = time.perf_counter()
            window.goto(page.as_uri(), wait_until="load")
            window.locator("#tasks tbody tr").first.wait_for()
            seconds.append(time.perf_counter() - began)
            context.close()
        browser.close()
    return seconds


def make_store(path: Path, n_tasks: int, n_examples: int, n_features: int) -> None:
    """One task that buys every cell from a provider, and many that are learned like it."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (n_examples, n_features)).astype(bool)
    names = [f"f{i}" for i in range(n_features)]
    column = {name: i for i, name in enumerate(names)}

    def ask(ids: list[int], features: list[str]) -> np.ndarray:
        return table[np.ix_(ids, [column[f] for f in features])]

    source = thrifty.Source.from_callable(
        ask,
        name="provider",
        examples=range(n_examples),
        features=names,
        prices=0.001,
        max_cells=500_000,
    )
    life = thrifty.Lifetime(thrifty.Trees(max_depth=5), store=str(path))
    life.learn("bought", source, np.where(table[:, 3], table[:, 5], table[:, 7]).astype(int))
    memory = thrifty.Lifetime(thrifty.Trees(max_depth=5))
    few = thrifty.streams.trees(200, n_features, 12, 400, 5, random_state=1)
    rows = [_row(memory.learn(task.name, task.X, task.y)) for task in few]

    def work(pages: Any) -> None:
        for i in range(n_tasks - 1):
            pages.add_task(replace(rows[i % len(rows)], name=f"task {i}", token=f"t{i}"))
        known = pages.state().representation
        known["representation"] = memory.representation.to_dict()
        pages.put_representation(known)

    with SQLiteStore(path) as store:
        store.book("lifetime", None, None).write(work)


def _row(learned: thrifty.results.Learned) -> TaskRow:
    receipt = {**learned.receipt.to_dict(), "good": None}
    return TaskRow("", learned.route, learned.model.to_dict(), receipt, None, "", 0.0)


@contextmanager
def running(store: Path) -> Iterator[tuple[str, str]]:
    """``thrifty report --live`` in a process of its own: its address and its cookie."""
    start = "from thrifty.cli import main; main()"
    command = [sys.executable, "-c", start, "report", str(store), "--live", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.match(r"(http://127\.0\.0\.1:(\d+))/\?token=(\S+)", process.stdout.readline())
    assert found is not None
    yield found.group(1), f"thrifty_{found.group(2)}={found.group(3)}"
    process.terminate()
    process.wait()


def dashboard(folder: Path, n_tasks: int, n_examples: int, n_features: int) -> dict[str, Any]:
    store = folder / "large.db"
    make_store(store, n_tasks, n_examples, n_features)
    began = time.perf_counter()
    with running(store) as (home, cookie), httpx.Client(headers={"cookie": cookie}) as client:
        started = time.perf_counter() - began
        while client.get(home + "/pictures/bill.svg").status_code != 200:
            time.sleep(0.5)
        quiet = _ask_all(client, home)
        with learning(store) as life:
            busy = _ask_all(client, home, pause=0.04)
            learned = len(life) - n_tasks
    return {
        "tasks": n_tasks,
        "cells": n_examples * n_features,
        "store_megabytes": round(store.stat().st_size / 1e6, 1),
        "seconds_to_start": round(started, 2),
        "quiet_ms": quiet,
        "learned_meanwhile": learned,
        "learning_ms": busy,
    }


def _ask_all(client: httpx.Client, home: str, pause: float = 0.0) -> dict[str, list[float]]:
    """Milliseconds by page: the median and the slowest of twenty, the pages in turn."""
    asked: dict[str, list[float]] = {page: [] for page in PAGES}
    for _ in range(20):
        for page in PAGES:
            asked[page].append(1000 * _asked(client, home + page))
            time.sleep(pause)
    return {
        page: [round(statistics.median(ms), 1), round(max(ms), 1)] for page, ms in asked.items()
    }


@contextmanager
def learning(store: Path) -> Iterator[thrifty.Lifetime]:
    """Tasks keep arriving in the store, a few each second; pictures are drawn again and again."""
    enough = threading.Event()
    life = thrifty.Lifetime(thrifty.Trees(max_depth=5), store=str(store))

    def learn() -> None:
        n_features = len(life.tasks[0].model.feature_names_in_)
        stream = thrifty.streams.trees(1000, n_features, 12, 400, 5, random_state=2)
        for task in stream:
            life.learn(f"new {task.name}", task.X, task.y)
            if enough.wait(0.3):
                return

    thread = threading.Thread(target=learn)
    thread.start()
    yield life
    enough.set()
    thread.join()


def _asked(client: httpx.Client, address: str) -> float:
    began = time.perf_counter()
    answer = client.get(address)
    took = time.perf_counter() - began
    answer.raise_for_status()
    return took


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true")
    options.add_argument("--quick", action="store_true", help="a tenth of everything")
    given = options.parse_args()
    part = 10 if given.quick else 1
    folder = Path(tempfile.mkdtemp())
    measured = {
        "report": report(folder, 2_000 // part),
        "dashboard": dashboard(folder, 10_000 // part, 50_000 // part, 200),
    }
    shutil.rmtree(folder)
    if given.json:
        print(json.dumps(measured, indent=2))
        return
    page, live = measured["report"], measured["dashboard"]
    opened = statistics.median(page["seconds_to_open"])
    print(
        f"report of {page['tasks']:,} tasks: {page['bytes'] / 1e6:.2f} MB "
        f"(limit {LIMIT_BYTES / 1e6:.0f}), opens in {opened:.2f} s (limit {LIMIT_OPEN:.0f}), "
        f"written in {page['seconds_to_write']} s"
    )
    print(
        f"dashboard over {live['tasks']:,} tasks and {live['cells']:,} cells "
        f"({live['store_megabytes']} MB): starts in {live['seconds_to_start']} s"
    )
    busy_title = f"learning {live['learned_meanwhile']} tasks"
    print(
        f"  milliseconds, median / slowest (limit {1000 * LIMIT_ANSWER:.0f})"
        f"{'quiet':>18}{busy_title:>22}"
    )
    for name, quiet in live["quiet_ms"].items():
        busy = live["learning_ms"][name]
        print(f"  {name:40}{quiet[0]:10.1f} /{quiet[1]:7.1f}{busy[0]:12.1f} /{busy[1]:7.1f}")


if __name__ == "__main__":
    main()
