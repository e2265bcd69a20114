"""What is told of each sample is what somebody read and found right: a change is to be read again."""

import pytest
import reviewed
from oracles import SAMPLES


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_text_is_the_one_that_was_read(path):
    # `python tests/reviewed.py` writes the texts anew; read the difference before you keep it.
    assert reviewed.text(path) == reviewed.name(path).read_text(encoding="utf-8")
