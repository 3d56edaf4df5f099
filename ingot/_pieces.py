"""A text in pieces, which together are the text: by words, or in the sizes of other pieces."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["of_sizes", "sizes_of", "words"]

_WORD = re.compile(r"\s*\S+|\s+$")
_LETTER = re.compile(r"\s*\S")


def words(text: str) -> list[str]:
    """Return *text* word by word, the space before each with it."""
    return _WORD.findall(text)


def sizes_of(pieces: Iterable[str], *, spaces: bool = True) -> list[int]:
    """Return the characters of each piece; without *spaces*, those that are no white space."""
    return [len(piece if spaces else "".join(piece.split())) for piece in pieces]


def of_sizes(text: str, sizes: Iterable[int], *, spaces: bool = True) -> list[str]:
    """
    Return *text* in pieces of *sizes* characters, as far as they reach, and the rest.

    Args:
        text: The text.
        sizes: Sizes of pieces.
        spaces: Whether white space counts. If not, texts that differ in nothing else, as JSON may,
            are cut in the same places.
    """
    ends = range(len(text) + 1) if spaces else [0, *(m.end() for m in _LETTER.finditer(text))]
    places = [0, *(ends[min(size, len(ends) - 1)] for size in accumulate(sizes)), len(text)]
    return [text[a:b] for a, b in pairwise(places) if a < b]
