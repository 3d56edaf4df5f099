"""`ask`: the surface, and how its type is inferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ingot._configured import UNSET, Aio, Configured, answered, caller, made
from ingot._drive import run
from ingot._given import Call, Settings
from ingot._map.surface import Mapper
from ingot._question import arguments, question
from ingot._signatures import signature
from ingot._stream import Stream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from typing_extensions import TypeForm
    from typing_extensions import TypeVar as TypeVarWithDefault

    from ingot._answer import Answer

    T = TypeVarWithDefault("T", default=Any)
else:
    T = TypeVar("T")

__all__ = ["ask"]

U = TypeVar("U")


class _AioDoor:
    """Makes `ask.aio` and `ask[T].aio` know their type."""

    def __get__(self, instance: object, owner: type[ask[T]]) -> Aio[T]:
        return Aio()


class _MapDoor:
    """Makes `ask.map` know its type."""

    def __get__(self, instance: object, owner: type[ask[T]]) -> Mapper[T]:
        return Mapper(UNSET, _NOTHING)


class ask(Generic[T]):  # noqa: N801 (it is called like a function)
    """
    Ask a model for a value of a type.

        ask(list[str], "Name three primary colours.")
        ask[list[str]]("Name three primary colours.")      # the same
        await ask.aio(list[str], "Name three primary colours.")

    The type becomes a schema that the model's server holds it to, as far as it can; what comes back
    is read strictly and validated by pydantic. `Text` and `Markdown` are prose, and not
    constrained.

    Args:
        t: The type: whatever pydantic validates and JSON can carry; or an Ingot type name such as
            `"string[]"`.
        prompt: What to say. Values go into `context={"name": value}`, never into the text.
        context: Values by name, each shown to the model as a labelled block before the prompt.
        types: Record declarations, for Ingot type names.
        sample: Tells apart asks that are the same on purpose, in recordings.
        attach: Files whose content is sent along: `Path`, `File`, or what `attachment` made.

    Settings go by name as well; docs/settings.md says what each does: model, system, max_tokens,
    temperature, seed, timeout, retry, repair, constrain, base_url, api_key, cassette, params,
    tools, deps, workspace, budget, policy, approve, on_event, raise_errors.

    Returns:
        A value of the type. `ask.answer` returns it with usage, cost, model and turns.

    Raises:
        UnsupportedTypeError: The type cannot be asked for; before any request.
        NotConfiguredError: There is nothing to ask with; before any request.
        PromptError: There is nothing to say; before any request.
        ProviderError: The request did not get through.
        AnswerError: What came is not an answer: a refusal, a cut or empty text, text that does not
            fit.
    """

    aio = _AioDoor()
    map = _MapDoor()

    if TYPE_CHECKING:

        @overload
        def __new__(cls, t: TypeForm[T], prompt: str, /, **given: Unpack[Call]) -> T: ...  # type: ignore[misc]
        @overload
        def __new__(cls, t: str, prompt: str, /, **given: Unpack[Call]) -> Any: ...
        @overload
        def __new__(cls, prompt: str, /, **given: Unpack[Call]) -> T: ...  # type: ignore[misc]
        def __new__(cls, *args: Any, **given: Any) -> Any: ...

    else:

        def __new__(cls, *args: Any, **given: Any) -> Any:
            # As `made` and `answered` do it, in fewer steps: most asks come this way.
            t, prompt = arguments(args, UNSET, UNSET)
            asked = question(t, prompt, bound=_NOTHING, given=given, caller=caller())
            return run(asked.flow, asked.provider).value

        def __class_getitem__(cls, t: Any) -> Configured[Any]:
            return Configured(t)

    @overload
    @classmethod
    def answer(cls, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Answer[U]: ...
    @overload
    @classmethod
    def answer(cls, t: str, prompt: str, /, **given: Unpack[Call]) -> Answer[Any]: ...
    @overload
    @classmethod
    def answer(cls, prompt: str, /, **given: Unpack[Call]) -> Answer[T]: ...
    @classmethod
    def answer(cls, *args: Any, **given: Any) -> Any:
        """Ask, and return the value with its usage, cost, model and turns."""
        return answered(made(args, UNSET, _NOTHING, given, caller())())

    @overload
    @classmethod
    def stream(cls, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Stream[U]: ...
    @overload
    @classmethod
    def stream(cls, t: str, prompt: str, /, **given: Unpack[Call]) -> Stream[Any]: ...
    @overload
    @classmethod
    def stream(cls, prompt: str, /, **given: Unpack[Call]) -> Stream[T]: ...
    @classmethod
    def stream(cls, *args: Any, **given: Any) -> Any:
        """
        Ask, and show the answer while it is written.

            with ask.stream(list[str], "Name three primary colours.") as s:
                for snapshot in s:
                    show(snapshot)
            colours = s.value

        See `Stream`; `ask.aio.stream` is the same for async code.
        """
        return Stream[Any](made(args, UNSET, _NOTHING, given, caller())())

    @classmethod
    def using(cls, **settings: Unpack[Settings]) -> Configured[T]:
        """
        Return an ask with settings bound, which is called like `ask`.

        Settings are given by name; docs/settings.md says what each does: model, system, max_tokens,
        temperature, seed, timeout, retry, repair, constrain, base_url, api_key, cassette, params,
        tools, deps, workspace, budget, policy, approve, on_event, raise_errors.

        Raises:
            TypeError: A keyword is no setting (the nearest one is named), or a value is of the
                wrong kind.
        """
        return Configured[T]().using(**settings)


_NOTHING: Mapping[str, Any] = {}


def _sign() -> None:
    """Show the settings by name to `help` and to completers."""
    two = ("t", "prompt")
    ask.__signature__ = signature(positional=two, named=Call, returns="T")  # type: ignore[attr-defined]
    for name, returns in (("answer", "Answer[T]"), ("stream", "Stream[T]")):
        method: Any = vars(ask)[name].__func__
        method.__signature__ = signature("cls", positional=two, named=Call, returns=returns)
    using: Any = vars(ask)["using"].__func__
    using.__signature__ = signature("cls", named=Settings, returns="Configured[T]")


_sign()
