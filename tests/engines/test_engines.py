"""Real engines: processes, a local Dask cluster, a local Ray; also with a worker that is killed."""

import os
import signal

import pytest

import thrifty
from tests.loops import assert_same, one_by_one
from thrifty.engines import open_pool

ENGINES = [
    "loky",
    "dask",
    pytest.param("ray", marks=pytest.mark.slow),  # starts in seconds, and is an optional extra
]


@pytest.fixture(scope="module")
def pools():
    """Each engine is started once for all tests."""
    opened = {}

    def pool(engine):
        if engine != "loky":
            pytest.importorskip({"dask": "distributed", "ray": "ray"}[engine])
        if engine not in opened:
            opened[engine] = open_pool(engine, 2)
        return opened[engine]

    yield pool
    for one in opened.values():
        one.close()


def stream(n=8):
    return thrifty.streams.trees(n, 60, 2, 300, 3, random_state=7)


class KillsItsWorker:
    """A family that ends the process that learns with it, once: the flag file remembers."""

    def __init__(self, family, flag, here):
        self.family, self.flag, self.here = family, flag, here

    def __getattr__(self, name):
        if name.startswith("__") or name == "family":
            raise AttributeError(name)
        return getattr(self.family, name)

    def use_rep(self, representation, cells, labels):
        if os.getpid() != self.here and not os.path.exists(self.flag):
            open(self.flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.family.use_rep(representation, cells, labels)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_result_of_a_loop_also_when_a_worker_is_killed(engine, tmp_path, pools):
    pool = pools(engine)
    tasks = list(stream())
    expected = one_by_one(tasks, thrifty.Trees(max_depth=4))
    life = thrifty.Lifetime(thrifty.Trees(max_depth=4))
    life.learn_many(tasks, engine=pool)
    assert_same(expected, life)
    flag = str(tmp_path / "killed")
    deadly = KillsItsWorker(thrifty.Trees(max_depth=4), flag, os.getpid())
    again = thrifty.Lifetime(deadly)
    again.learn_many(tasks, engine=pool)
    assert_same(expected, again)
    assert os.path.exists(flag)  # a worker did die


@pytest.mark.slow
def test_a_cluster_of_dask_by_its_address_loses_a_worker_and_is_left_running(tmp_path):
    distributed = pytest.importorskip("distributed")
    tasks, flag = list(stream()), str(tmp_path / "killed")
    quiet = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    life = thrifty.Lifetime(KillsItsWorker(thrifty.Trees(max_depth=4), flag, os.getpid()))
    with (
        distributed.LocalCluster(n_workers=2, **quiet) as cluster,
        distributed.Client(cluster.scheduler_address) as client,
    ):
        life.learn_many(tasks, engine=client)
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
    assert os.path.exists(flag)
    assert_same(one_by_one(tasks, thrifty.Trees(max_depth=4)), life)


@pytest.mark.slow
def test_a_cluster_of_ray_by_its_address_loses_a_worker_and_is_left_running(
    tmp_path, ray_address, monkeypatch
):
    ray = pytest.importorskip("ray")
    tasks, flag = list(stream()), str(tmp_path / "killed")
    life = thrifty.Lifetime(KillsItsWorker(thrifty.Trees(max_depth=4), flag, os.getpid()))
    ray.shutdown()  # a local one of the tests above
    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    with open_pool("ray", 2) as pool:
        assert ray.get_runtime_context().gcs_address == ray_address
        life.learn_many(tasks, engine=pool)
    assert os.path.exists(flag)
    assert_same(one_by_one(tasks, thrifty.Trees(max_depth=4)), life)
    with open_pool("ray", 2) as pool:
        assert pool.submit(os.path.exists, flag).result()


@pytest.mark.slow
def test_without_an_address_ray_is_local_whoever_runs_here(ray_address):
    """It was a ValueError of Ray's where another cluster ran on the machine."""
    ray = pytest.importorskip("ray")
    ray.shutdown()
    with open_pool("ray", 2):
        assert ray.get_runtime_context().gcs_address != ray_address


def test_a_worker_of_dask_that_cannot_load_its_work_says_so(tmp_path, monkeypatch, pools):
    """It fell silent, and whoever waited for it waited for ever."""
    pool = pools("dask")
    (tmp_path / "known_here_alone.py").write_text("class Rule:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import known_here_alone

    work = pool.submit(id, known_here_alone.Rule())
    with pytest.raises(thrifty.errors.BadInput, match="known_here_alone.*must be installed"):
        work.result(timeout=60)
