"""No test that nobody runs: each slow one belongs to a make target, and CI runs every target."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
#: what would be a rule of make, were it in a recipe's line
RUN_SLOW = re.compile(r'^\t\$\(BIN\)/python -m pytest -m (?:"slow or not slow"|slow) (.+)$', re.M)


def rule(name: str) -> str:
    """What a target needs, and its recipe."""
    found = re.search(rf"^{name}:(.*\n(?:\t.*\n)*)", MAKEFILE, re.M)
    assert found, f"make {name} is not there"
    return found[1]


def test_every_slow_test_has_a_target():
    run = [ROOT / path for line in RUN_SLOW.findall(MAKEFILE) for path in line.split()]
    assert run and all(path.exists() for path in run)
    slow = [
        path
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if re.search(r"mark\.(slow|some)\b", path.read_text(encoding="utf-8"))
        and path.name.startswith("test_")
        and path != Path(__file__)
    ]
    assert len(slow) > 10
    nobody = [
        path.relative_to(ROOT).as_posix()
        for path in slow
        if not any(path.is_relative_to(target) for target in run)
    ]
    assert nobody == []


def test_everything_runs_every_target_with_slow_tests_and_ci_runs_everything():
    everything = rule("everything").split()
    holding = [
        name for name in re.findall(r"^([a-z-]+):", MAKEFILE, re.M) if RUN_SLOW.search(rule(name))
    ]
    assert {"guarantees", "faults", "bench", "reproduce"} <= set(holding)
    assert {"test", "mutants", *holding} <= set(everything)
    weekly = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert "schedule:" in weekly and "run: make everything" in weekly
