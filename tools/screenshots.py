"""Takes the documentation's screenshots: report and dashboard, light and dark, wide and narrow.

python tools/screenshots.py          # needs Chromium and the packages of the tests
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def make_lifetime(folder: Path) -> Path:
    """The clinic of the examples, with a purchase in doubt for the dashboard to show."""
    import numpy as np

    import thrifty
    from thrifty.errors import PurchaseInDoubt
    from thrifty.testing import FakeProvider

    subprocess.run(["sh", str(ROOT / "examples" / "clinic.sh"), str(folder)], check=True)
    store = folder / "clinic.db"
    with thrifty.Lifetime.open(store) as life:
        travellers = [f"traveller {i}" for i in range(60)]
        names = ["CRP", "Leukozyten", "Hb", "Kreatinin", "TSH"]
        lab = FakeProvider(faults=["error"]).source(
            travellers, names, prices=life.prices, boolean=False, name="lab"
        )
        try:
            life.learn("fever at the airport", lab, np.arange(60) % 2, spend="200 EUR")
        except PurchaseInDoubt as doubt:
            print(doubt)
    return store


@contextmanager
def dashboard(store: Path) -> Iterator[str]:
    start = "from thrifty.cli import main; main()"
    command = [sys.executable, "-c", start, "report", store.name, "--live", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=store.parent)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait()


def shoot(browser: Any, address: str, path: Path, width: int, scheme: str, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("figure img", timeout=60_000)  # the dashboard draws them first
    page.wait_for_timeout(500)
    page.screenshot(path=path)
    context.close()
    print(path)


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder = Path(tempfile.mkdtemp())
    store = make_lifetime(folder)
    page = (folder / "clinic.html").as_uri()
    with sync_playwright() as playwright, dashboard(store) as live:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for scheme in ("light", "dark"):
            shoot(browser, page, IMAGES / f"report-{scheme}.png", 1280, scheme, 1100)
            shoot(browser, live, IMAGES / f"dashboard-{scheme}.png", 1280, scheme, 1100)
        shoot(browser, f"{page}#task-0", IMAGES / "report-task.png", 1280, "light", 900)
        narrow = []
        for name, address in (("report", page), ("dashboard", live)):
            narrow.append(folder / f"{name}.png")
            shoot(browser, address, narrow[-1], 390, "light", 844)
        side_by_side(narrow, IMAGES / "phone.png")
        browser.close()


def side_by_side(pictures: list[Path], out: Path) -> None:
    from PIL import Image

    opened = [Image.open(path).convert("RGB") for path in pictures]
    width, height = sum(p.width + 20 for p in opened) - 20, max(p.height for p in opened)
    sheet = Image.new("RGB", (width, height), "#888888")
    left = 0
    for picture in opened:
        sheet.paste(picture, (left, 0))
        left += picture.width + 20
    sheet.save(out)


if __name__ == "__main__":
    main()
