"""Damaged captures: whatever is told of them is well-formed. `mutants.py` looks at as many as one likes."""

import random

import mutants
import pytest

BATCHES, SIZE = 8, 25
CAUGHT = (
    1147, 1646, 2403, 3128, 3505, 20143, 20149, 500611, 505422, 1000670, 1003350, 1003837, 1004516, 1007752, 1008421,
    1009146,
)  # fmt: skip
"""Mutants that once showed something wrong."""


@pytest.fixture(scope="module")
def files():
    return mutants.originals()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_is_told_of_a_mutant_is_well_formed(batch, files):
    for seed in range(batch * SIZE, (batch + 1) * SIZE):
        content = mutants.mutant(random.Random(seed), files)  # noqa: S311
        assert mutants.wrong(content, paged=seed % SIZE == 0) == [], f"mutant {seed}"


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("seed", CAUGHT)
def test_what_was_wrong_once_stays_right(seed, files):
    assert mutants.wrong(mutants.mutant(random.Random(seed), files), paged=True) == []  # noqa: S311
