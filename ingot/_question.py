"""One ask, made ready: settings, provider, shape and request; nothing is sent here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ingot import _registry
from ingot._config import checked, resolve
from ingot._flow import converse
from ingot._prompt import say
from ingot._request import Request
from ingot._retry import Retry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._flow import Flow
    from ingot._shape.target import Namespace
    from ingot.provider import Provider

__all__ = ["Question", "question"]

_RETRY = Retry()


class Question(NamedTuple):
    """
    What a driver needs.

    Attributes:
        flow: The conversation, not begun.
        provider: Who is asked.
        request: The first request.
    """

    flow: Flow
    provider: Provider
    request: Request


def question(
    t: Any,
    prompt: Any,
    *,
    bound: Mapping[str, Any],
    given: dict[str, Any],
    namespace: Namespace,
) -> Question:
    """
    Make one ask ready.

    Args:
        t: The type, or an Ingot type name.
        prompt: Text or a template string.
        bound: Settings of `using`, checked.
        given: Keywords of the call: settings, *context*, *types* and *sample*.
        namespace: Gives the names that forward references of *t* may use.

    Raises:
        TypeError: A keyword is no setting, or a setting is of the wrong kind.
        PromptError: The prompt is empty or cannot be said.
        UnsupportedTypeError: *t* cannot be asked for.
        NotConfiguredError: There is nothing to ask with.
    """
    context, types, sample = (given.pop(name, None) for name in ("context", "types", "sample"))
    call = merged(bound, checked(given)) if given else bound
    text, values = say(prompt, context)
    settings = resolve(call)
    chosen = settings.values
    provider, model = _registry.find_provider(
        chosen.get("model"), base_url=chosen.get("base_url"), api_key=chosen.get("api_key")
    )
    # Imported at the first ask: the shape room stands on pydantic, which `import ingot` must not
    # load.
    from ingot._shape.shape import shape_of

    constrain = chosen.get("constrain", "auto")
    dialect = "prompt" if constrain == "prompt" else provider.dialect
    shape = shape_of(t, dialect, types=types, namespace=namespace)
    if constrain == "strict" and shape.kind == "schema" and not shape.constrained:
        raise shape.refuse()
    request = Request(
        provider=provider.name,
        model=model,
        target=shape.descriptor,
        prompt=text,
        system=chosen.get("system"),
        context=values,
        format=shape.format(shown=provider.show_schema),
        max_tokens=chosen.get("max_tokens", provider.default_max_tokens),
        temperature=chosen.get("temperature"),
        seed=chosen.get("seed"),
        params=chosen.get("params", {}),
        timeout=chosen.get("timeout"),
        sample=sample,
        keyed=settings.chosen,
    )
    flow = converse(
        request, shape, retry=chosen.get("retry", _RETRY), repair=chosen.get("repair", 0)
    )
    return Question(flow, provider, request)


def merged(bound: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return *bound* overlaid with *given*; vendor-specific extras are merged by name."""
    out = {**bound, **given}
    if "params" in bound and "params" in given:
        out["params"] = {**bound["params"], **given["params"]}
    return out


def arguments(args: tuple[Any, ...], t: Any, unset: object) -> tuple[Any, Any]:
    """
    Tell type and prompt apart in the positional arguments of a call.

    Raises:
        TypeError: There are too few or too many.
    """
    if t is not unset and len(args) == 1:
        return t, args[0]
    if t is unset and len(args) == 2:
        return args[0], args[1]
    wanted = "a prompt" if t is not unset else "a type and a prompt"
    raise TypeError(
        f"ask takes {wanted}, and settings by name, but {len(args)} positional arguments came; "
        "write ask(list[str], prompt) or ask[list[str]](prompt)"
    )
