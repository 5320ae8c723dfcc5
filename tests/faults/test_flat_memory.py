"""An instance that answers for days needs no more memory at their end than at their beginning."""

import pytest

from tests.support.client import Client
from tests.support.stack import OWNER, PASSWORD, environment_for
from tests.support.turns import Crowd

# Megabytes that pools, caches and what an allocator keeps may still grow by.
SETTLING = 25


@pytest.mark.parametrize(
    "turns", [pytest.param(320, id="few"), pytest.param(10_000, id="many", marks=pytest.mark.soak)]
)
def test_memory_stays_flat_over_very_many_turns(start_stack, model_server, turns):
    """Sixteen people talk at once, in ever new conversations; every turn ends well."""
    stack = start_stack(has_owner=True, **environment_for(model_server.url))
    crowd = Crowd(stack, Client(stack.url).login(OWNER, PASSWORD))
    crowd.talk(turns // 5)
    before, processes = crowd.memory(), stack.pids()
    crowd.talk(turns - turns // 5)
    after = crowd.memory()
    assert set(crowd.states()) == {"done"}
    assert stack.pids() == processes
    print(f"{turns} turns: {before} → {after} MB")
    assert all(after[part] - before[part] < SETTLING for part in after)
