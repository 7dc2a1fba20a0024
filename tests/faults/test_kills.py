"""kill -9 at random moments, two processes on one lifetime."""

import os
import random
import signal
import time

import pytest

from thrifty.errors import PurchaseInDoubt, TaskExists

TASKS = ("t0", "t1", "t2", "t3")
IN_DOUBT = 7


def campaign(tools, folder, new_place, kills, seed):
    """Episodes until enough processes were killed; returns (kills, doubts resolved)."""
    chance = random.Random(seed)
    killed = doubts = 0
    while killed < kills:
        kind = chance.choice(("plain", "async", "idempotent"))
        clinic = tools.Clinic(folder, new_place(), kind, n_examples=60)
        k, d = episode(tools, clinic, chance, kills - killed)
        killed, doubts = killed + k, doubts + d
    return killed, doubts


def worker(clinic, seed):
    """Learn all tasks, in an order of its own; stop where something is in doubt."""

    def work():
        chance = random.Random(seed)
        life = clinic.open()
        for task in chance.sample(TASKS, len(TASKS)):
            try:
                if task not in life:
                    clinic.learn(life, task, max_examples=4, max_cells=12, delay=0.005)
            except TaskExists:
                pass  # the other one was quicker
            except PurchaseInDoubt:
                return IN_DOUBT
        return 0

    return work


def episode(tools, clinic, chance, kills):
    running, killed, doubts = {}, 0, 0
    finished = 0
    while finished < 2:
        while len(running) < 2 - finished:
            running[tools.in_child(worker(clinic, chance.random()))] = None
        if killed < kills:
            time.sleep(chance.uniform(0.03, 0.15))
            victim = chance.choice(list(running))
            os.kill(victim, signal.SIGKILL)
        for pid in list(running):
            if killed >= kills or pid == victim:
                code = tools.wait_for(pid)
            else:
                done, status = os.waitpid(pid, os.WNOHANG)
                if not done:
                    continue
                code = os.waitstatus_to_exitcode(status)
            del running[pid]
            assert code in (0, IN_DOUBT, tools.KILLED)
            killed += code == tools.KILLED
            finished += code == 0
        clinic.check()
        if not running or chance.random() < 0.5:
            doubts += clinic.resolve(clinic.open()) if clinic.kind != "idempotent" else 0
    clinic.finish(TASKS)
    return killed, doubts


@pytest.mark.parametrize("kills", [8, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_two_processes_killed_at_random(store, kills, tools, fast_path, request):
    def new_place():
        if store == "sqlite":
            return str(fast_path / f"{os.urandom(4).hex()}.db")
        return request.getfixturevalue("postgres").new_database()

    killed, doubts = campaign(tools, fast_path, new_place, kills, seed=kills)
    print(f"{store}: {killed} kills, {doubts} purchases in doubt resolved, nothing paid twice")
    assert killed >= kills
