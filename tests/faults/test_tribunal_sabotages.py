"""Each way to break the money is found by the tribunal's judge: it must not say SOUND."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sabotages import SABOTAGES

from tests.tribunal import Tribunal
from tests.tribunal.provider_process import Faults

CUTS = Faults(refused=0.1, cut=0.3, malformed=0.0, slow=0.0)

#: the room in which each shows
ROOMS: dict[str, dict[str, object]] = {
    "limits_of_tasks_and_examples_are_unchecked": {"limited": True, "says": "no", "money": "flat"},
    "stored_values_are_rounded": {"mixed": True},
    "what_is_over_is_dropped": {"says": "above"},
    "a_late_or_real_cost_is_the_list_price": {"says": "below"},
    "a_fee_is_paid_with_every_call": {"money": "fee", "says": "no"},
    "a_discount_is_not_given": {"money": "order", "says": "no"},
    "resolving_forgets_the_cost": {"says": "below", "provider": "plain", "faults": CUTS},
    "receipts_leave_out_the_lines_of_real_costs": {"says": "below", "gentle": True},
    "receipts_count_rows_twice": {"gentle": True},
    "a_window_never_ends": {"money": "window", "jumps": False},
    "a_receipt_is_the_account_of_the_name": {"gentle": True},
    "columns_are_younger_than_their_values": {"money": "window", "jumps": False, "gentle": True},
    "columns_are_rounded": {"mixed": True, "gentle": True},
    "what_has_expired_is_asked_for_under_its_old_key": {
        "provider": "keyed",
        "money": "window",
        "jumps": False,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SABOTAGES)
def test_the_judge_finds_it(name, fast_path, monkeypatch):
    SABOTAGES[name](monkeypatch)
    chosen = {"tight": False, **ROOMS.get(name, {})}
    verdict = None
    for seed in range(6):  # a room in which nothing of the kind happened proves nothing
        folder = fast_path / str(seed)
        folder.mkdir()
        verdict = Tribunal(
            kills=8, pauses=0, workers=4, n_examples=24, folder=folder, seed=seed, **chosen
        ).run()
        if not verdict.sound:
            break
    assert verdict is not None and not verdict.sound, str(verdict)
