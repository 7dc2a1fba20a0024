"""One installation of Thrifty that learns what it is told, a line of JSON at a time.

``paired.py`` starts this file with the path of another checkout, so that two versions learn the
same task, split, seed and bill in one run. It reads ``{"file": ..., "prices": ..., "spend": ...}``
and answers with the CPU seconds of learning; what was predicted lies beside the file.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np

import thrifty
from thrifty.typing import AnyArray


def learned(life: thrifty.Lifetime, task: dict[str, AnyArray], told: dict[str, Any]) -> list[Any]:
    """The models of one task, or of several labels at once, in the order of the labels."""
    X: AnyArray | thrifty.Source = task["X"]
    names = told.get("names")
    if names:
        X = thrifty.Source.from_array(
            X, feature_names=names, allow_missing=True, kinds=told.get("kinds")
        )
    if task["Y"].ndim == 2:
        labels = [f"{told['task']} {j}" for j in range(task["Y"].shape[1])]
        return [one.model for one in life.learn(labels, X, task["Y"], spend=told["spend"]).values()]
    return [life.learn(told["task"], X, task["Y"], spend=told["spend"]).model]


def lifetime(told: dict[str, Any]) -> thrifty.Lifetime:
    prices = told.get("prices")
    return thrifty.Lifetime(
        thrifty.Models(random_state=told["seed"]),
        prices=None if prices is None else thrifty.PriceList(**prices),
        random_state=told["seed"],
    )


def main() -> None:
    warnings.filterwarnings("ignore")
    life, stream = None, None
    for line in sys.stdin:
        told = json.loads(line)
        with np.load(told["file"], allow_pickle=False) as z:
            task = {name: z[name] for name in z.files}
        if life is None or told["stream"] is None or told["stream"] != stream:
            life, stream = lifetime(told), told["stream"]
        start = time.process_time()
        models = learned(life, task, told)
        seconds = time.process_time() - start
        if task["Y"].dtype.kind == "f":
            said = [model.predict(task["X_test"]) for model in models]
        else:
            said = [model.predict_proba(task["X_test"])[:, 1] for model in models]
        np.save(told["out"], np.column_stack(said))
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
