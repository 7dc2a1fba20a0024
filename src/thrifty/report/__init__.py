"""A lifetime to look at: pictures, a page, a dashboard. Data first, drawing second."""

from pathlib import Path

from thrifty.lifetime.lifetime import Lifetime
from thrifty.report.pages import report_page
from thrifty.report.pictures import Picture, pictures_of, save_pictures
from thrifty.report.view import LifetimeView, TaskView, read_store, view_of

__all__ = [
    "LifetimeView", "Picture", "TaskView", "pictures_of", "read_store", "report_page",
    "save_pictures", "save_report", "view_of",
]  # fmt: skip


def save_report(life: Lifetime, path: str | Path, *, title: str = "lifetime") -> Path:
    """Write the report of a lifetime as one page; returns where it is.

    >>> import tempfile, thrifty
    >>> life = thrifty.Lifetime(thrifty.Trees(max_depth=3))
    >>> _ = life.learn("either", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = save_report(life, f"{folder}/report.html")
    ...     "1 task learned over 2 features" in page.read_text()
    True
    """
    page = Path(path)
    page.write_text(report_page(view_of(life, title)), encoding="utf-8")
    return page
