"""Is this ready to be released? Version, changelog, claims about Pythons, files that must be there.

    python tools/release_check.py            # after make wheel and make docs; make release-check

Prints one line a check and exits with 1 where one fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, object]:
    return tomllib.loads(text("pyproject.toml"))["project"]


def version_is_one() -> str | None:
    said = str(project()["version"])
    found = re.search(r'__version__ = "(.+)"', text("src/thrifty/__init__.py"))
    cited = re.search(r"^version: (.+)$", text("CITATION.cff"), re.M)
    there = {said, found[1] if found else "none", cited[1] if cited else "none"}
    return None if len(there) == 1 else f"pyproject, __init__ and CITATION.cff say {sorted(there)}"


def version_is_final() -> str | None:
    said = str(project()["version"])
    return None if re.fullmatch(r"\d+\.\d+\.\d+", said) else f"{said} is no release"


def changelog_knows_it() -> str | None:
    first = re.search(r"^## (.+)$", text("CHANGELOG.md"), re.M)
    said = str(project()["version"])
    if first and first[1].split()[0] == said and "unreleased" not in first[1]:
        return None
    return f"the first heading of CHANGELOG.md is {first[1] if first else 'none'}, not {said}"


def pythons_ran() -> str | None:
    """Every Python of the classifiers has a log of `make matrix` that passed."""
    claimed = re.findall(r"Python :: (3\.\d+)", text("pyproject.toml"))
    missing = []
    for version in claimed:
        log = ROOT / f"matrix-{version}.log"
        said = log.read_text(errors="replace") if log.exists() else ""
        if not re.search(r"^\d+ passed", said, re.M) or re.search(r"\d+ (failed|error)", said):
            missing.append(version)
    return f"no passing matrix-*.log for {missing}: run make matrix" if missing else None


def files_are_there() -> str | None:
    wanted = (
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "SECURITY.md",
        "CONTRIBUTING.md",
    )
    missing = [name for name in wanted if not (ROOT / name).exists()]
    return f"missing: {missing}" if missing else None


def tree_is_clean() -> str | None:
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True
    )
    return f"uncommitted changes:\n{done.stdout}" if done.stdout else None


CHECKS = (
    version_is_one,
    version_is_final,
    changelog_knows_it,
    pythons_ran,
    files_are_there,
    tree_is_clean,
)


def main() -> None:
    problems = 0
    for check in CHECKS:
        problem = check()
        problems += problem is not None
        print(
            f"{'ok  ' if problem is None else 'FAIL'} {check.__name__.replace('_', ' ')}"
            f"{'' if problem is None else ': ' + problem}"
        )
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
