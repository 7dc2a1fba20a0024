"""A cluster of Ray as it is started by hand, which processes find by its address."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def ray_address():
    """Where a cluster with two workers listens; it ends with the session."""
    pytest.importorskip("ray")
    command = [
        Path(sys.executable).parent / "ray", "start", "--head", "--block", "--port=0",
        "--num-cpus=2", "--include-dashboard=false", "--disable-usage-stats",
        "--object-store-memory=100000000",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as head:
        found, said = None, ""
        while not found:
            line = head.stdout.readline()
            assert line, f"Ray did not start: {said}"
            said += line
            found = re.search(r"ray start --address='(.+)'", line)
        yield found[1]
        head.terminate()
