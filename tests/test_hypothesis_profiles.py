"""Profiles of hypothesis are global: what one folder sets holds in the others."""

from pathlib import Path

from hypothesis import settings

HERE = Path(__file__).parent


def test_one_profile_for_every_folder():
    assert settings.get_current_profile_name() == "thrifty"
    assert settings().deadline is None


def test_no_folder_sets_a_profile_of_its_own():
    """Importing a conftest is enough to change every test that is collected after it."""
    own = [
        path.relative_to(HERE).as_posix()
        for path in HERE.rglob("*.py")
        if "load_profile" in path.read_text(encoding="utf-8") and path.name != Path(__file__).name
    ]
    assert own == ["conftest.py"]
