"""What can be given to an ask by name, as types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Required, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Literal

    from ingot._attach import Attachable
    from ingot._budget.limits import Budget
    from ingot._people import Approver
    from ingot._policy import Policy
    from ingot._rate import Rate
    from ingot._retry import Retry
    from ingot._tool import Tool
    from ingot._workspace import Workspace
    from ingot.cassette.recorder import Cassette
    from ingot.events import Event
    from ingot.provider import Provider

__all__ = ["Call", "Many", "Prompt", "Settings"]


class Settings(TypedDict, total=False):
    """
    What can be set for an ask; None means not set. docs/settings.md has the whole table.

    Attributes:
        model: Who is asked, as `provider/model`, or a Provider.
        system: The system prompt.
        max_tokens: Upper bound of the answer, in tokens.
        temperature: How freely the model chooses its words.
        seed: Makes sampling repeatable where the vendor can.
        timeout: Seconds that the server may be silent.
        retry: How often a request that failed in passing is sent again, or a Retry.
        repair: How often the model may be told that its reply does not fit.
        constrain: `auto`, `strict` or `prompt`: whether the server must hold the model to the type.
        base_url: Where the server is.
        api_key: The key.
        cassette: The recording that answers, or that is made: a Cassette or its path.
        params: Vendor-specific extras of the request.
        tools: What the model may call while it answers: functions, and what `tool` made of them.
        deps: What tools find in `Context.deps`.
        workspace: The folder that tools and handles of files are held to.
        budget: What one ask may spend.
        policy: What the effects of tools are allowed.
        approve: Decides what the policy leaves to a person.
        on_event: Is told of each event.
        raise_errors: Which exceptions of tools end the ask instead of being told to the model.
    """

    model: str | Provider | None
    system: str | None
    max_tokens: int | None
    temperature: float | None
    seed: int | None
    timeout: float | None
    retry: int | Retry | None
    repair: int | None
    constrain: Literal["auto", "strict", "prompt"] | None
    base_url: str | None
    api_key: str | None
    cassette: Cassette | str | None
    params: Mapping[str, Any] | None
    tools: Sequence[Tool[..., Any] | Callable[..., Any]] | None
    deps: Any
    workspace: Workspace | str | PathLike[str] | None
    budget: Budget | None
    policy: Policy | None
    approve: Approver | None
    on_event: Callable[[Event], object] | None
    raise_errors: bool | type[Exception] | tuple[type[Exception], ...] | None


class Call(Settings, total=False):
    """
    What can be said in one call beside type and prompt.

    Attributes:
        context: Values by name, each shown to the model as a labelled block before the prompt.
        types: Record declarations, for Ingot type names.
        sample: Tells apart asks that are the same on purpose, in recordings.
        attach: Files whose content is sent along: `Path`, `File`, or what `attachment` made.
    """

    context: Mapping[str, Any] | None
    types: Mapping[str, Any] | None
    sample: str | int | None
    attach: Sequence[Attachable] | None


class Prompt(TypedDict, total=False):
    """
    One prompt of a map with what belongs to it alone; what the map was given stands for the rest.

    Attributes:
        prompt: What to say.
        context: Values by name, each shown to the model as a labelled block before the prompt.
        attach: Files whose content is sent along.
        sample: Tells apart asks that are the same on purpose, in recordings and stores.
    """

    prompt: Required[str]
    context: Mapping[str, Any] | None
    attach: Sequence[Attachable] | None
    sample: str | int | None


class Many(Call, total=False):
    """
    What can be said of a map beside type and prompts; all else goes for each of its asks.

    Attributes:
        concurrency: Asks at a time; 16 by default.
        progress: Whether a bar is shown; False by default.
        ordered: Whether results come in the order of the prompts, which is the default, or as they
            are finished.
        rate: Requests in a time, such as `500/min`, or a Rate; None for as many as get through.
        store: The file in which answers are kept, so that a run that was killed goes on; None for
            none.
    """

    concurrency: int | None
    progress: bool | None
    ordered: bool | None
    rate: Rate | str | None
    store: str | PathLike[str] | None
