"""What a router knows of a question before anyone is asked: few numbers and words, no content."""

from __future__ import annotations

import re
from collections import OrderedDict
from math import isfinite, log10
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ingot._json import is_array, is_object
from ingot._request import target_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingot._request import Request

__all__ = ["Features", "features_of", "language_of", "own_features"]

Features: TypeAlias = "dict[str, float | bool | str]"

_LONGEST = 64
"""Characters of a feature that is a word, and of its name."""

_HALF = re.compile(r"[\ud800-\udfff]")

_KEPT = 512
"""Types whose measures are kept."""

_LOOKED_AT = 400
"""Characters of a prompt in which its language is looked for."""


def features_of(request: Request) -> Features:
    """
    Return what there is to know of *request*.

    Sizes are decimal logarithms, so that twice as long is as much more for a line as for a book.

    Returns:
        `type_kind`: the word or kind of the type, such as `str`, `list`, `model`; `type_depth`: how
        deep it goes, 0 for a word; `type_fields`: fields of all its classes; `type_choices`: its
        unions, enums and literals; `prompt_size` and `context_size`: of 1 and the characters;
        `tools` and `attachments`: how many; `language`: see `language_of`.
    """
    form = _form(request.target)
    context = sum(len(str(value)) for _, value in request.context)
    return {
        "type_kind": form.kind,
        "type_depth": form.depth,
        "type_fields": form.fields,
        "type_choices": form.choices,
        "prompt_size": round(log10(1 + len(request.prompt)), 3),
        "context_size": round(log10(1 + context), 3),
        "tools": len(request.tools),
        "attachments": len(request.attachments),
        "language": language_of(request.prompt),
    }


def own_features(given: Any) -> Features:
    """
    Return the features that a program adds, checked.

    Raises:
        TypeError: It is no mapping of names to numbers, bools and short words.
    """
    if not is_object(given):
        raise TypeError(f"features of a router are a dict, not {type(given).__name__}")
    for name, value in given.items():
        if not _is_word(name) or not name:
            raise TypeError(f"the name of a feature is a text of 1 to {_LONGEST}: {name!r:.80}")
        if not _is_word(value) and not _is_number(value):
            raise TypeError(
                f"the feature {name!r} must be a finite number, a bool or "
                f"a text of at most {_LONGEST} characters"
            )
    return dict(given)


def _is_word(given: Any) -> bool:
    # Half of a surrogate pair is no text that can be sent.
    return isinstance(given, str) and len(given) <= _LONGEST and not _HALF.search(given)


def _is_number(given: Any) -> bool:
    try:
        return isinstance(given, int | float) and isfinite(given)
    except OverflowError:  # of digits without end
        return False


# The type


class _Form(NamedTuple):
    kind: str
    depth: int
    fields: int
    choices: int


_CHOICES = ("union", "literal")


_forms: OrderedDict[str, _Form] = OrderedDict()
"""Forms of the types that were asked for last, by the texts of their descriptors."""


def _form(target: Any) -> _Form:
    """Measure a descriptor, once for those that are asked for again."""
    text = target_text(target)
    form = _forms.get(text)
    if form is None:
        form = _forms[text] = _measured(target)
        while len(_forms) > _KEPT:
            _forms.popitem(last=False)
    return form


def _measured(target: Any) -> _Form:
    """Measure a descriptor; see `ingot._shape.descriptor` for how it is written."""
    classes: Mapping[str, Any] = {}
    if is_object(target) and "classes" in target:
        classes, target = target["classes"], target["type"]
    described = [target, *classes.values()]
    parts = [part for one in described for part in _parts(one)]
    fields = sum(len(one["fields"]) for one in classes.values() if "fields" in one)
    choices = sum(not part.keys().isdisjoint(_CHOICES) for part in parts if is_object(part))
    choices += sum(one.get("kind") == "enum" for one in classes.values())
    return _Form(_kind(target, classes), _depth(target, classes, ()), fields, choices)


def _kind(part: Any, classes: Mapping[str, Any]) -> str:
    if not is_object(part):
        return str(part)
    if "ref" in part:
        return str(classes[part["ref"]]["kind"])
    return str(part["type"]) if "type" in part else str(next(iter(part)))


def _inside(part: Any) -> Iterator[Any]:
    """The descriptors that stand directly in *part*, a descriptor or a class."""
    if not is_object(part):
        return
    for name in ("list", "dict", "tuple", "union", "type", "root", "extras"):
        value = part.get(name)
        yield from value if is_array(value) else () if value is None else (value,)
    yield from part.get("fields", {}).values()


def _parts(part: Any) -> Iterator[Any]:
    yield part
    for inner in _inside(part):
        yield from _parts(inner)


def _depth(part: Any, classes: Mapping[str, Any], above: tuple[str, ...]) -> int:
    """How many lists, dicts and objects lie in each other; a class within itself counts once."""
    if not is_object(part):
        return 0
    if "ref" in part:
        name = part["ref"]
        return 0 if name in above else _depth(classes[name], classes, (*above, name))
    below = max((_depth(inner, classes, above) for inner in _inside(part)), default=0)
    return below + any(name in part for name in ("list", "dict", "tuple", "fields"))


# The language

_SCRIPTS = (
    ("ja", "\u3040", "\u30ff"),
    ("ko", "\uac00", "\ud7af"),
    ("zh", "\u4e00", "\u9fff"),
    ("cyrillic", "\u0400", "\u04ff"),
    ("greek", "\u0370", "\u03ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("hebrew", "\u0590", "\u05ff"),
    ("devanagari", "\u0900", "\u097f"),
    ("thai", "\u0e00", "\u0e7f"),
)
"""Scripts by first and last letter; Japanese stands before Chinese, whose letters it also uses."""

_LATIN = "\u024f"
"""The last of the letters that are Latin."""

_WORDS = {
    "en": "the of and to is in that for it with this are as from what which each how",
    "de": "der die das und ist ein eine den von zu mit nicht auf für im dem wie welche",
    "fr": "le la les et est un une des du que dans pour qui sur pas avec ce quel",
    "es": "el los las y es un una de que en por con para se del al cuál qué",
    "it": "il lo gli e è un una di che in per con non sono della del quale",
    "pt": "o os as e é um uma de que em por com para não do da qual",
    "nl": "de het een en is van dat niet op te zijn voor met aan welke",
}
"""Frequent words of languages in Latin letters."""

_LANGUAGES = {
    word: tuple(name for name, words in _WORDS.items() if word in words.split())
    for said in _WORDS.values()
    for word in said.split()
}


def language_of(text: str) -> str:
    """
    Guess the language of *text* from its first characters: cheap, and wrong now and then.

    Returns:
        The code of a language (`en`, `de`, `ja`, …), the name of a script that several languages
        use (`cyrillic`, …), or `other`.
    """
    text = text[:_LOOKED_AT]
    if text and max(text) > _LATIN:
        for name, first, last in _SCRIPTS:
            if len(re.findall(f"[{first}-{last}]", text)) * 5 > len(text):
                return name
    counts = dict.fromkeys(_WORDS, 0)
    for word in re.findall(r"\w+", text.lower()):
        for name in _LANGUAGES.get(word, ()):
            counts[name] += 1
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else "other"
