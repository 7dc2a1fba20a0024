"""A real Chromium, driven by Playwright; without one these tests are skipped, and say so."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A name that is not this machine's, pointed at it: what a hostile site would do.
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
]
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


# A module at a time: Playwright keeps an event loop running, and other tests start their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    path = _chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: as root on Debian, 'make browser' installs it")
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def windows(chromium: Any) -> Iterator[dict[tuple[int, str], Any]]:
    """Windows of each width and scheme: one that is opened anew costs most of a second."""
    opened: dict[tuple[int, str], Any] = {}
    yield opened
    for page in opened.values():
        page.context.close()


@pytest.fixture
def window(chromium: Any, windows: dict[tuple[int, str], Any]) -> Iterator[Callable[..., Any]]:
    """An empty window without cookies; what a page complains about fails the test."""
    shown: list[Any] = []

    def open_window(width: int = 1280, scheme: str = "light") -> Any:
        page = windows.get((width, scheme))
        if page is None:
            page = windows[width, scheme] = _new_window(chromium, width, scheme)
        page.context.clear_cookies()
        shown.append(page)
        return page

    yield open_window
    complaints = [text for page in shown for text in page.complaints]
    for page in shown:
        page.goto("about:blank")
        page.complaints.clear()
    # A dashboard may be stopped before its window is closed.
    assert [text for text in complaints if "ERR_CONNECTION_REFUSED" not in text] == []


def _new_window(chromium: Any, width: int, scheme: str) -> Any:
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.complaints = complaints
    return page


@pytest.fixture(scope="session")
def check_page() -> Callable[[Any], None]:
    """Nothing overflows sideways, and axe finds nothing serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def check(page: Any) -> None:
        width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= room, f"{page.url} is {width} pixels wide in a window of {room}"
        found = axe.run(page).response["violations"]
        serious = [
            (v["id"], [node["html"][:120] for node in v["nodes"]][:3])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []

    return check
