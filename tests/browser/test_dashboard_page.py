"""The dashboard in a real browser, started as a user starts it."""

import hashlib
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="Playwright is not installed")
from playwright.sync_api import expect

import thrifty
from thrifty.errors import PurchaseInDoubt
from thrifty.report.dashboard import _EVERY
from thrifty.testing import FakeProvider

NAMES = [f"q{i}" for i in range(12)]
IDS = [f"doc-{i}" for i in range(120)]
PRICES = thrifty.PriceList(0.01, currency="EUR")
BUDGET = thrifty.Budget(total="1000 EUR")
FAMILY = thrifty.Trees(max_depth=4, learner=thrifty.trees.Paper())


def value(example: str, feature: str) -> bool:
    return hashlib.sha256(f"{example} {feature}".encode()).digest()[0] % 2 == 1


def learn(life: thrifty.Lifetime, name: str, ids: list[str], **faults: Any) -> None:
    provider = FakeProvider(value, **faults)
    source = provider.source(ids, NAMES, prices=PRICES, max_examples=40, name="bank")
    life.learn(name, source, np.array([value(i, "q1") and value(i, "q2") for i in ids]))


class Dashboard:
    """``thrifty report --live`` in a process of its own."""

    def __init__(self, store: Path) -> None:
        self.store = store
        start = "from thrifty.cli import main; main()"
        command = [sys.executable, "-c", start, "report", str(store), "--live", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.home = self.address.split("/?")[0]
        self.port = int(self.home.rsplit(":", 1)[1])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


def make_store(path: Path) -> Path:
    life = thrifty.Lifetime(FAMILY, store=str(path), budget=BUDGET)
    learn(life, "first", IDS)
    learn(life, "<b>second</b>", IDS[20:])
    with pytest.raises(PurchaseInDoubt):
        learn(life, "third", [f"late-{i}" for i in range(60)], faults=["error"])
    return path


@pytest.fixture(scope="module")
def shared(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """One dashboard for the tests that change nothing."""
    running = Dashboard(make_store(tmp_path_factory.mktemp("shared") / "bank.db"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def dashboard(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """Another for those that do: each changes what the others do not look at."""
    running = Dashboard(make_store(tmp_path_factory.mktemp("changed") / "bank.db"))
    yield running
    running.stop()


def test_it_loads_sorts_and_opens_a_task(window, check_page, shared: Dashboard) -> None:
    page = window()
    page.goto(shared.address)
    assert "token" not in page.url, "the token must not stay in the address"
    expect(page.locator("#card-tasks")).to_have_text("2")
    page.get_by_role("link", name="Models").click()
    names = page.locator("#tasks tbody td:nth-child(2)")
    expect(names).to_have_count(2)  # a click before the rows are there would sort nothing
    page.get_by_role("button", name="Task", exact=True).click()
    expect(names).to_have_text(["<b>second</b>", "first"])
    page.get_by_role("link", name="<b>second</b>").click()
    page.locator("#task svg.tree").wait_for()
    assert page.locator("#task h2").inner_text() == "<b>second</b>"
    page.get_by_role("link", name="For the curious").click()
    page.locator("#rest pre").first.wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_nothing_overflows_and_axe_is_content(
    window, check_page, shared: Dashboard, width: int, scheme: str
) -> None:
    page = window(width, scheme)
    page.goto(shared.address)
    expect(page.locator("#card-tasks")).to_have_text("2")
    page.locator("figure img").first.wait_for()
    page.goto(f"{shared.home}/#task-1")
    page.locator("#task svg.tree").wait_for()
    check_page(page)


# Notes how long the page waits each time before it does something again.
NOTE_WAITS = """
window.waits = [];
const wait = window.setTimeout;
window.setTimeout = (what, ms) => { window.waits.push(ms); return wait(what, ms); };
"""


def test_new_spend_shows_while_the_task_is_being_learned(window, dashboard: Dashboard) -> None:
    """The provider answers only when told to: what shows meanwhile shows before the end."""
    page = window()
    page.add_init_script(NOTE_WAITS)
    page.goto(dashboard.address)
    expect(page.locator("#card-tasks")).to_have_text("2")
    before = page.locator("#card-learning").inner_text()
    life = thrifty.Lifetime(FAMILY, store=str(dashboard.store), budget=BUDGET)
    new = [f"new-{i}" for i in range(200)]
    answers = threading.Semaphore(0)
    held = {"faults": lambda number: answers.acquire() and ""}
    learning = threading.Thread(target=learn, args=(life, "running", new), kwargs=held)
    learning.start()
    try:
        spent = page.locator(".running", has_text="running")
        spent.wait_for()  # money is set aside before the provider is asked
        first = spent.inner_text()
        answers.release()
        expect(spent).not_to_have_text(first)  # it rises with the first answer
        assert learning.is_alive(), "spending must show before the task is learned"
    finally:
        answers.release(10_000)
        learning.join()
    expect(page.locator("#card-tasks")).to_have_text("3")
    assert page.locator("#card-learning").inner_text() != before
    # Nothing is older than one wait of the page and one of the server: not a clock's word.
    waits = page.evaluate("window.waits")
    assert len(waits) > 2 and max(waits) / 1000 + _EVERY <= 2.0


def test_it_survives_a_store_that_is_being_written(window, shared: Dashboard) -> None:
    page = window()
    page.goto(shared.address)
    expect(page.locator("#card-tasks")).to_have_text("2")
    writer = sqlite3.connect(shared.store, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    page.reload()
    expect(page.locator("#tasks tbody tr").first).to_be_visible(timeout=15_000)
    page.locator("#trouble", has_text="in use by other processes").wait_for(timeout=15_000)
    writer.execute("ROLLBACK")
    expect(page.locator("#trouble")).to_be_hidden(timeout=15_000)
    assert page.locator("#tasks tbody tr").count() == 2


def test_a_doubt_is_shown_until_it_is_settled(window, dashboard: Dashboard) -> None:
    page = window()
    page.goto(dashboard.address)
    waits = page.locator("section.panel[aria-label^=purchase]")
    expect(waits).to_have_count(1)
    command = waits.locator("pre").inner_text().splitlines()[0].split()
    assert command[:2] == ["thrifty", "resolve"] and command[-1] == "--not-billed"
    start = "from thrifty.cli import main; main()"
    subprocess.run([sys.executable, "-c", start, *command[1:]], check=True)
    expect(waits).to_have_count(0)


def test_what_is_being_typed_stays_while_the_page_changes(window, dashboard: Dashboard) -> None:
    page = window()
    page.goto(dashboard.address)
    page.get_by_label("Name contains").fill("fir")
    learn(thrifty.Lifetime.open(dashboard.store), "firm", IDS[40:])
    expect(page.locator("#tasks tbody td:nth-child(2)")).to_have_text(["first", "firm"])
    expect(page.get_by_label("Name contains")).to_have_value("fir")


def test_a_foreign_name_for_this_machine_is_refused(window, shared: Dashboard) -> None:
    page = window()
    token = re.search(r"token=(.+)$", shared.address).group(1)
    answer = page.goto(f"http://evil.example:{shared.port}/?token={token}")
    assert answer.status == 421
    assert "answers at" in page.locator("body").inner_text()
    page.goto("about:blank")
    page.complaints.clear()  # the browser reports the refusal; that is the point


def test_it_says_when_it_was_stopped(window, dashboard: Dashboard) -> None:
    page = window()
    page.goto(dashboard.address)
    dashboard.stop()
    page.locator("#live", has_text="stopped").wait_for()
