"""Records: dataclasses that are quick to make, and that type checkers keep from being changed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from ingot import Answer
from ingot.provider import Outcome, Request, Response, Usage


def test_a_record_is_replaced_and_compared() -> None:
    """It is a dataclass in all else."""
    one = Usage(input_tokens=1)

    assert replace(one, output_tokens=2) == Usage(input_tokens=1, output_tokens=2)
    assert hash(one) == hash(Usage(input_tokens=1))


@pytest.mark.parametrize("cls", [Answer, Outcome, Request, Response, Usage])
def test_a_record_has_its_fields_and_no_more(cls: type) -> None:
    """A misspelt name is refused, by name and by attribute."""
    made = cls.__new__(cls)

    assert set(cls.__slots__) == {one.name for one in fields(cls)}
    with pytest.raises(AttributeError):
        made.promt = "a"
    with pytest.raises(TypeError, match="promt"):
        cls(promt="a")
