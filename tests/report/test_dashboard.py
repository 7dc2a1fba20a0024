"""The dashboard without a browser: who may ask, what is answered, what is written."""

import asyncio
import html
import json
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

import thrifty
from tests.loops import AMPLE
from tests.market import seller
from thrifty.cells.ledger.ledger import Ledger
from thrifty.errors import PurchaseInDoubt, ThriftyError
from thrifty.report import LifetimeView, report_page
from thrifty.report.dashboard import Guard, Watcher, listen, make_app
from thrifty.report.view import Reader
from thrifty.stores import open_store

PORT, TOKEN = 8710, "a-token-that-is-long-enough"
HERE = f"http://127.0.0.1:{PORT}"
HOSTILE = "<img src=x onerror=alert(1)>"


def in_doubt(path: Path | str) -> None:
    """A store with a task learned from a provider, and a purchase nobody knows the end of."""
    truth = np.random.default_rng(0).integers(0, 2, (60, 6)).astype(bool)
    names = [f"q{i}" for i in range(6)]

    def ask(examples, features):
        if "new" in examples:
            raise RuntimeError("the line was cut")
        return truth[np.ix_([int(e) for e in examples], [names.index(f) for f in features])]

    life = thrifty.Lifetime(thrifty.Trees(max_depth=3), store=str(path), budget=AMPLE)
    prices = thrifty.PriceList(0.5, currency="EUR")
    ids = [str(i) for i in range(60)]
    paid = seller(ask, ids, names, name="provider", prices=prices)
    y = truth[:, 1] & truth[:, 2]
    life.learn(HOSTILE, paid, y)
    cut = seller(ask, [*ids[1:], "new"], names, name="provider", prices=prices)
    with pytest.raises(PurchaseInDoubt):
        life.learn("second", cut, np.append(y[1:], True))


class Site:
    """The app behind its guard, with a client that knows the token."""

    def __init__(self, path: Path | str, look: Callable[[], LifetimeView] | None = None) -> None:
        self.path = path
        self.watcher = Watcher(look or Reader(str(path)).look)
        self.watcher.look_once()
        app = Guard(make_app(self.watcher, str(path)), PORT, TOKEN)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HERE)

    def resolve(self, purchase: int, outcome: str) -> None:
        with open_store(str(self.path)) as store:
            Ledger(store.book("lifetime", None, None)).resolve(purchase, outcome)

    def ask(self, method: str, address: str, **more) -> httpx.Response:
        more.setdefault("cookies", {f"thrifty_{PORT}": TOKEN})
        request = self.client.build_request(method, address, **more)
        return asyncio.run(self.client.send(request))


@pytest.fixture(scope="session")
def doubtful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doubt") / "life.db"
    in_doubt(path)
    return path


@pytest.fixture
def site(doubtful: Path, tmp_path: Path) -> Site:
    return Site(Path(shutil.copy(doubtful, tmp_path)))


@pytest.fixture(params=["sqlite", "postgresql"])
def either_site(request: pytest.FixtureRequest) -> Site:
    """The same store as a file and on a server."""
    if request.param == "sqlite":
        return request.getfixturevalue("site")
    url = request.getfixturevalue("postgres").new_database()
    in_doubt(url)
    return Site(url)


ADDRESSES = ["/", "/live", "/tasks", "/tasks/0", "/static/thrifty.css"]


def test_the_page_answers_and_escapes(either_site: Site) -> None:
    answer = either_site.ask("GET", "/")
    assert answer.status_code == 200
    assert HOSTILE not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "style=" not in answer.text and "<script>" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:1", ""])
def test_a_foreign_host_is_refused(site: Site, host: str) -> None:
    for page in ADDRESSES:
        assert site.ask("GET", page, headers={"host": host}).status_code == 421


def test_nothing_without_the_token(site: Site) -> None:
    for page in [*ADDRESSES, "/pictures/bill.svg"]:
        refused = site.ask("GET", page, cookies={})
        assert refused.status_code == 403 and "needs its token" in refused.text
        wrong = site.ask("GET", page, cookies={f"thrifty_{PORT}": TOKEN[:-1]})
        assert wrong.status_code == 403


def test_quality_that_was_not_measured_has_no_column(site: Site) -> None:
    assert 'data-measured="no"' in site.ask("GET", "/").text


def test_the_token_in_the_address_becomes_a_cookie(site: Site) -> None:
    answer = site.ask("GET", f"/tasks?a=1&token={TOKEN}", cookies={})
    assert (answer.status_code, answer.headers["location"]) == (303, "/tasks?a=1")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert site.ask("GET", "/?token=guess", cookies={}).status_code == 403


def test_a_doubt_is_shown_with_the_command_that_settles_it(either_site: Site) -> None:
    (waiting,) = either_site.watcher.scene.view.ledger.in_doubt
    page = either_site.ask("GET", "/").text
    assert f"thrifty resolve {either_site.path} {waiting.id} --not-billed" in html.unescape(page)
    either_site.resolve(waiting.id, "not-billed")
    either_site.watcher.look_once()
    assert "thrifty resolve" not in either_site.ask("GET", "/").text


@pytest.mark.parametrize(
    "address",
    [
        "/tasks/99", "/tasks/-1", "/tasks/²", f"/tasks/{'9' * 5000}", "/tasks/../etc/passwd",
        "/pictures/../../x.svg", "/pictures/secret.svg", "/static/..%2f..%2fpage.py",
        "/static/report.js.map", "/doubt/77",
    ],
)  # fmt: skip
def test_odd_addresses_are_refused(site: Site, address: str) -> None:
    assert site.ask("GET", address).status_code == 404


def test_pictures_are_served_once_drawn(site: Site) -> None:
    assert site.ask("GET", "/pictures/bill.svg").status_code == 404
    site.watcher.draw_once()
    answer = site.ask("GET", "/pictures/bill.svg")
    assert answer.headers["content-type"] == "image/svg+xml" and "<svg" in answer.text
    assert "/pictures/bill.svg?version=2" in site.ask("GET", "/").text


def test_nothing_but_get(site: Site) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert site.ask(method, "/tasks").status_code == 405


def test_the_table_and_a_task_are_what_a_report_holds(view: LifetimeView) -> None:
    site = Site("life.db", lambda: view)
    data = json.loads(re.search(r'id="data">(.*?)</script>', report_page(view)).group(1))
    assert site.ask("GET", "/tasks").json() == data["rows"]
    assert site.ask("GET", "/tasks/5").json() == data["details"][5]


def test_an_empty_lifetime_is_friendly(tmp_path: Path) -> None:
    thrifty.Lifetime(thrifty.Trees(max_depth=3), store=str(tmp_path / "new.db"))
    site = Site(tmp_path / "new.db")
    assert "Nothing has been learned yet" in site.ask("GET", "/").text


def test_a_store_in_trouble_keeps_the_last_state_on_show(view: LifetimeView) -> None:
    answers: list[object] = [view, thrifty.errors.StoreBusy("in use by others"), view]

    def look() -> LifetimeView:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    watcher = Watcher(look)
    assert watcher.look_once() and not watcher.scene.trouble
    assert watcher.look_once() and watcher.scene.trouble == "in use by others"
    assert len(watcher.scene.view.tasks) == 24
    assert watcher.look_once() and not watcher.scene.trouble


def test_no_page_waits_for_the_store(view: LifetimeView) -> None:
    looks: list[None] = []
    site = Site("life.db", lambda: looks.append(None) or view)
    site.watcher.draw_once()
    for address in [*ADDRESSES, "/pictures/bill.svg"]:
        assert site.ask("GET", address).status_code == 200
    assert len(looks) == 1, "a page must be answered from what was seen, not look at the store"


def test_a_page_has_its_title_before_the_store_is_read() -> None:
    watcher = Watcher(lambda: LifetimeView(title="clinic"), "clinic")
    assert watcher.scene.view.title == "clinic"


def test_nothing_new_is_nothing_to_do(view: LifetimeView) -> None:
    watcher = Watcher(lambda: view)
    watcher.look_once()
    assert watcher.draw_once()
    assert not watcher.look_once() and not watcher.draw_once()


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ThriftyError, match=rf"port {port} cannot be used .*--port"):
            listen(port)


def test_a_task_that_was_given_up_is_not_in_progress(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thrifty.report import view as reading

    view = site.watcher.scene.view
    assert view.ledger.in_doubt and not view.ledger.running  # it waits for the user
    site.resolve(view.ledger.in_doubt[0].id, "billed")
    assert list(Reader(str(site.path)).look().ledger.running) == ["second"]  # a moment ago
    monkeypatch.setattr(reading, "_RECENT", 0.0)  # this process lives on, and has given it up
    view = Reader(str(site.path)).look()
    assert not view.ledger.running
    assert "in progress" not in {row["route"] for row in view.beside}
