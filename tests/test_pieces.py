"""A text in pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingot._pieces import of_sizes, sizes_of, words


def test_words_keep_their_space() -> None:
    """The space before a word comes with it, that at the end by itself."""
    assert words("  The quick\n\nfox \n") == ["  The", " quick", "\n\nfox", " \n"]
    assert words("") == []


def test_sizes_reach_as_far_as_they_do() -> None:
    """What is left comes last; nothing comes as an empty piece."""
    assert of_sizes("abcdef", [1, 0, 2]) == ["a", "bc", "def"]
    assert of_sizes("abc", [2, 5, 9]) == ["ab", "c"]
    assert of_sizes("abc", []) == ["abc"]
    assert of_sizes("", [1]) == []


def test_white_space_need_not_count() -> None:
    """Texts that differ in nothing else are cut before the same letters."""
    written = ['{ "a"', " :\n ", "[1, ", "2] }\n"]
    sizes = sizes_of(written, spaces=False)

    assert sizes == [4, 1, 3, 3]
    assert of_sizes('{"a": [1, 2]}', sizes, spaces=False) == ['{"a"', ":", " [1,", " 2]}"]
    assert sizes_of(written) == [5, 4, 4, 5]


@given(st.text(), st.lists(st.integers(0, 9)))
def test_together_they_are_the_text(text: str, sizes: list[int]) -> None:
    """Nothing is lost, added or empty."""
    for pieces in (words(text), of_sizes(text, sizes), of_sizes(text, sizes, spaces=False)):
        assert "".join(pieces) == text
        assert "" not in pieces
