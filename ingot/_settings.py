"""Settings: what there is to set, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingot import _acting_kinds, _kinds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SETTINGS", "Setting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """
    One setting.

    Attributes:
        name: Its name as a keyword argument, and as a key of `[tool.ingot]`.
        type: Its type, in words.
        default: Its default, in words.
        check: Returns the value, or raises ValueError with what was expected.
        parse: Reads the text of the environment variable; None where there is no variable.
        variable: The environment variable; None where there is none.
        file: Whether the project file may set it.
        keyed: Whether it enters the key of a recording when the caller chose it.
        says: What it does.
    """

    name: str
    type: str
    default: str
    check: Callable[[Any], Any]
    parse: Callable[[str], Any] | None
    variable: str | None
    file: bool
    keyed: bool
    says: str


def _setting(
    name: str,
    type: str,
    default: str,
    check: Callable[[Any], Any],
    parse: Callable[[str], Any] | None,
    says: str,
    *,
    keyed: bool = False,
    file: bool = True,
) -> Setting:
    variable = f"INGOT_{name.upper()}" if parse is not None else None
    return Setting(
        name=name,
        type=type,
        default=default,
        check=check,
        parse=parse,
        variable=variable,
        file=file,
        keyed=keyed,
        says=says,
    )


def _act(name: str, type: str, default: str, check: Callable[[Any], Any], says: str) -> Setting:
    """A setting of asks that act: an object, which neither a variable nor a file can hold."""
    return _setting(name, type, default, check, None, says, file=False)


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        _setting(
            "model",
            "str | Provider",
            "the vendor whose key is set, else the local model",
            _kinds.model,
            str,
            "who is asked, as `provider/model`",
            keyed=True,
        ),
        _setting("system", "str", "none", _kinds.text, str, "the system prompt", keyed=True),
        _setting(
            "max_tokens",
            "int",
            "16000; 4096 at other servers; 512 local",
            _kinds.whole(1),
            int,
            "upper bound of the answer, in tokens",
            keyed=True,
        ),
        _setting(
            "temperature",
            "float",
            "the model's own; 0 local",
            _kinds.number(0),
            float,
            "how freely the model chooses its words",
            keyed=True,
        ),
        _setting(
            "seed", "int", "none", _kinds.whole(0), int, "makes sampling repeatable", keyed=True
        ),
        _setting(
            "timeout",
            "float",
            "600",
            _kinds.number(0, more=True, most=2e6),
            float,
            "seconds that the server may be silent",
        ),
        _setting(
            "retry",
            "int | Retry",
            "2",
            _kinds.retry,
            int,
            "how often a request that failed in passing is sent again",
        ),
        _setting(
            "repair",
            "int",
            "0",
            _kinds.whole(0),
            int,
            "how often the model may be told that its reply does not fit",
        ),
        _setting(
            "constrain",
            "str",
            "auto",
            _kinds.constrain,
            str,
            "`auto`: the server holds the model to the type where it can, else it is shown; "
            "`strict`: it must; `prompt`: the schema is only shown",
        ),
        _setting(
            "base_url",
            "str",
            "the vendor's",
            _kinds.text,
            str,
            "where the server is",
            file=False,
        ),
        _setting(
            "api_key",
            "str",
            "the vendor's variable",
            _kinds.text,
            str,
            "the key; in no pickle, repr, log or recording",
            file=False,
        ),
        _setting(
            "cassette",
            "Cassette | str",
            "none",
            _kinds.cassette,
            str,
            "the recording that answers, or that is made",
            file=False,
        ),
        _setting(
            "params",
            "dict[str, Any]",
            "none",
            _kinds.params,
            None,
            "vendor-specific extras of the request",
            keyed=True,
        ),
        _act(
            "tools",
            "list[Tool | Callable]",
            "none",
            _acting_kinds.tools,
            "what the model may call while it answers",
        ),
        _act("deps", "Any", "none", _acting_kinds.anything, "what tools find in `Context.deps`"),
        _act(
            "workspace",
            "Workspace | str",
            "the working directory",
            _acting_kinds.workspace,
            "the folder that tools and handles of files are held to",
        ),
        _act("budget", "Budget", "16 turns", _acting_kinds.budget, "what one ask may spend"),
        _act(
            "policy",
            "Policy",
            "everything is allowed",
            _acting_kinds.policy,
            "what the effects of tools are allowed",
        ),
        _act(
            "approve",
            "Callable[[Approval], bool]",
            "nobody",
            _acting_kinds.function,
            "decides what the policy leaves to a person",
        ),
        _act(
            "on_event",
            "Callable[[Event], object]",
            "nobody",
            _acting_kinds.listener,
            "is told of each event",
        ),
        _act(
            "raise_errors",
            "bool | type[Exception] | tuple[type[Exception], …]",
            "False",
            _acting_kinds.exceptions,
            "which exceptions of tools end the ask instead of being told to the model",
        ),
    )
}
"""Every setting, by name."""
