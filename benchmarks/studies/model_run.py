"""Ours and theirs on every set, at every bill; kept line by line, so that a run can go on."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

from studies.kept import Kept
from studies.model_tasks import ModelTask, model_tasks
from studies.model_ways import full_models, pilots, scores, whole_rows
from thrifty.lifetime.lifetime import Lifetime
from thrifty.models import Models
from thrifty.typing import Json

__all__ = ["BILLS", "PARTS", "run_set"]

#: ours; LightGBM and logistic regression on every cell; the nine pilots; whole rows
PARTS = ("ours", "full", "pilots", "rows")
BILLS = (0.02, 0.03, 0.05, 0.1, 0.2)

Line = Json


def run_set(
    kept: Kept,
    name: str,
    n_labels: int,
    seed: int,
    bills: tuple[float, ...],
    memories: tuple[bool, ...] = (True, False),
    parts: tuple[str, ...] = PARTS,
) -> None:
    """What is not kept yet of some parts, one set and seed; ours with a memory and without."""
    warnings.filterwarnings("ignore")
    tasks = list(model_tasks(name, n_labels, seed))
    for memory in memories if "ours" in parts else ():
        for bill in bills:
            key = {"set": name, "seed": seed, "what": "ours", "bill": bill, "memory": memory}
            if all(kept.has(**key, i=i) for i in range(len(tasks))):
                continue
            for line in _ours(tasks, seed, bill, memory):
                if not kept.has(**key, i=line["i"]):
                    kept.add({**key, **line})
    for i, task in enumerate(tasks):
        key = {"set": name, "seed": seed, "i": i, "label": task.label}
        if "full" in parts and not kept.has(**key, what="full", bill=None, memory=None):
            kept.add({**key, "what": "full", "models": full_models(task)})
        for bill in bills if "pilots" in parts else ():
            if not kept.has(**key, what="pilots", bill=bill, memory=None):
                kept.add({**key, "what": "pilots", "bill": bill, "ap": pilots(task, bill)})
        for bill in bills if "rows" in parts else ():
            if not kept.has(**key, what="rows", bill=bill, memory=None):
                kept.add({**key, "what": "rows", "bill": bill, "ap": whole_rows(task, bill)})


def _ours(tasks: list[ModelTask], seed: int, bill: float, memory: bool) -> Iterator[Line]:
    """One lifetime over all tasks; without memory a new one for each."""
    life = Lifetime(Models(random_state=seed))
    for i, task in enumerate(tasks):
        if not memory:
            life = Lifetime(Models(random_state=seed))
        boolean = task.X.dtype == "uint8"
        start = time.process_time()
        learned = life.learn(
            f"{task.label}",
            task.X.astype(bool) if boolean else task.X,
            task.y,
            spend=f"{100 * bill:g} %",
        )
        seconds = time.process_time() - start
        p = learned.model.predict_proba(task.X_test)[:, 1]
        yield {
            "i": i,
            "label": task.label,
            "cells": learned.receipt.cells / task.X.size,
            "features": len(learned.model.features_),
            "seconds": seconds,
            "share": float(task.y.mean()),
            **scores(p, task.y_test),
        }
