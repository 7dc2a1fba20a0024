"""The report in a real browser: from a file, with no network."""

from dataclasses import replace
from pathlib import Path

import pytest

import thrifty
from thrifty.lifetime.outcomes import Monitor
from thrifty.report import LifetimeView, report_page, view_of

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="session")
def seen() -> LifetimeView:
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    stream = thrifty.streams.trees(
        n_tasks=60, n_features=60, n_metafeatures=4, n_examples=400, max_depth=4, random_state=3
    )
    for task in stream:
        life.learn(task.name, task.X, task.y)
    view = view_of(life, "clinic")
    first = replace(view.tasks[0], name=HOSTILE)
    watched = Monitor("a", 300, 90, 0.912, 0.934, 0.29, 0.3, None, "as good as when it was learned")
    return replace(view, tasks=(first, *view.tasks[1:]), monitors=(watched,))


@pytest.fixture(scope="session")
def address(seen: LifetimeView, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_page(seen), encoding="utf-8")
    return path.as_uri()


def column(page, number: int) -> list[str]:
    return page.locator(f"#tasks tbody td:nth-child({number})").all_inner_texts()


def test_it_loads_from_a_file_and_asks_nobody(window, address: str) -> None:
    page = window()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    assert page.locator("#tasks tbody tr").count() == 25
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    loaded = page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert loaded and page.locator("figure").count() == 4


def test_it_sorts_both_ways(window, address: str) -> None:
    page = window()
    page.goto(address)
    page.get_by_role("button", name="Cost").click()
    cells = [int(text.replace(",", "")) for text in column(page, 3)]
    assert cells == sorted(cells, reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Cost")
    page.get_by_role("button", name="Cost").click()
    cells = [int(text.replace(",", "")) for text in column(page, 3)]
    assert cells == sorted(cells)


def test_it_filters_and_pages(window, address: str) -> None:
    page = window()
    page.goto(address)
    page.get_by_role("button", name="Next").click()
    assert "26 to 50 of 60" in page.locator(".count").inner_text()
    page.get_by_label("Name contains").fill("0042")
    assert column(page, 2) == ["task-0042"]


def test_a_task_opens_with_its_tree(window, address: str, seen: LifetimeView) -> None:
    page = window()
    number = next(i for i, task in enumerate(seen.tasks) if task.route == "reused")
    page.goto(address)
    page.locator("#tasks tbody a").nth(number).click()
    opened = page.locator("#task")
    opened.wait_for(state="visible")  # the page opens it on hashchange, a moment after the click
    assert opened.locator("svg.tree rect").count() >= 3


def test_the_drawn_tree_is_the_tree(window, address: str, seen: LifetimeView) -> None:
    page = window()
    number = next(i for i, task in enumerate(seen.tasks) if task.route == "reused")
    page.goto(f"{address}#task-{number}")
    page.locator("#task summary").click()
    assert page.locator("#task pre").inner_text().strip() == str(seen.tasks[number].tree).strip()


def test_names_with_markup_are_only_names(window, address: str) -> None:
    page = window()
    page.goto(f"{address}#task-0")  # an alert would be a complaint, and fail the test
    assert page.locator("#task h2").inner_text() == HOSTILE
    assert page.locator("img[src=x]").count() == 0


def test_it_works_from_the_keyboard(window, address: str) -> None:
    page = window()
    page.goto(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.get_by_role("button", name="Max per row").focus()
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort]").inner_text().startswith("Max per row")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_nothing_overflows_and_axe_is_content(
    window, check_page, address: str, width: int, scheme: str
) -> None:
    page = window(width, scheme)
    page.goto(f"{address}#task-5")
    check_page(page)
    tables = "[...document.querySelectorAll('.scroll > table')]"
    beyond = page.evaluate(f"{tables}.map(t => t.scrollWidth - innerWidth)")
    assert max(beyond) <= 0, "a table is cut off"


def test_an_empty_lifetime_is_a_friendly_page(window, check_page, tmp_path: Path) -> None:
    (tmp_path / "empty.html").write_text(report_page(LifetimeView(title="new")), encoding="utf-8")
    page = window(390)
    page.goto((tmp_path / "empty.html").as_uri())
    assert "Nothing has been learned yet" in page.locator("main").inner_text()
    check_page(page)
