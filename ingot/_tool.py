"""Tools: functions that a model may call while it answers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial, update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Self, overload

from typing_extensions import ParamSpec, TypeIs, TypeVar

from ingot._json import Unreadable, read
from ingot._kinds import number
from ingot._request import ToolDeclaration
from ingot._shape.adapters import adapter_of
from ingot._shape.content import File
from ingot._shape.members import locate
from ingot._shape.reader import bare
from ingot._shape.shape import Shape
from ingot._tool_place import place_of
from ingot._tool_result import consumed, result_text
from ingot._tool_signature import innermost, read_signature
from ingot.errors import InvalidAnswerError, ToolDefinitionError, UnreadableAnswerError

if TYPE_CHECKING:
    from ingot._context import Context
    from ingot._handles import Handles
    from ingot._problem import Problem
    from ingot._shape.wire import Wire

__all__ = ["Tool", "is_tool", "tool"]

P = ParamSpec("P", default=...)
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True, default=Any)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN = 20
"""Problems of one call that a message spells out."""


class Tool(Generic[P, R_co]):
    """
    A function that a model may call. It is made by `tool`, and called like the function.

    Attributes:
        function: The function.
        name: What the model calls it by.
        description: What the model is told that it does; None for nothing.
        effects: What it does to the world, in words that a policy has rules for.
        timeout: Seconds that one call may take; None for as long as it likes.
        strict: Whether the vendor is to hold the model to the parameters: False never, True or the
            tool is refused, None where it can.
        is_async: Whether a call of it is awaited.
    """

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        name: str | None = None,
        description: str | None = None,
        effects: Iterable[str] = (),
        timeout: float | None = None,
        strict: bool | None = None,
    ) -> None:
        update_wrapper(self, function, updated=())
        self.name = _named(function, name)
        self.__dict__.setdefault("__name__", self.name)  # an object with `__call__` has none
        self.function = function
        self.effects = _effects(effects)
        self.timeout = _seconds(timeout)
        self.strict = strict
        self.is_async = any(map(inspect.iscoroutinefunction, (function, innermost(function))))
        self._signature = read_signature(function, self.name)
        self.description = self._signature.description if description is None else description
        self._is_bound = False
        self._shapes: dict[str, Shape] = {}
        self._declarations: dict[str, ToolDeclaration] = {}

    def __repr__(self) -> str:
        effects = f": {', '.join(sorted(self.effects))}" if self.effects else ""
        return f"<tool {self.name}({', '.join(self._parameters)}){effects}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return self.function(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: Any = None, /) -> Self: ...
    @overload
    def __get__(
        self: Tool[Concatenate[Any, Q], R_co], instance: object, owner: Any = None, /
    ) -> Tool[Q, R_co]: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any:
        """Bind a method to its object."""
        if instance is None or not self._signature.receiver:
            return self
        return self.bound(MethodType(self.function, instance))

    def __reduce__(self) -> Any:
        names = ("name", "description", "effects", "timeout", "strict")
        make = partial(Tool, **{name: getattr(self, name) for name in names})
        return place_of(self, self.function) or (make, (self.function,))

    def bound(self, method: Callable[..., Any]) -> Tool:
        """Return this tool of a method as that of *method*, which has its object."""
        made: Tool = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.function = method
        made._is_bound = True
        return made

    @property
    def _parameters(self) -> tuple[str, ...]:
        """Names of what a model gives."""
        return tuple(self._signature.target.type.__annotations__)

    @cached_property
    def produces_files(self) -> bool:
        """Whether it may return a `File`, alone or inside of something, as far as it declares."""
        returns = self._signature.returns
        return returns is Any or locate(returns, lambda part: part is File) is not None

    def check(self) -> None:
        """
        Refuse a method without its object.

        Raises:
            ToolDefinitionError: It is one.
        """
        if self._signature.receiver and not self._is_bound:
            raise ToolDefinitionError(
                self.name,
                "it is a method, and there is no object to call it on",
                advice=f"offer the method of an object, as in `thing.{self.name}`",
            )

    # To the model

    def declaration(self, dialect: str) -> ToolDeclaration:
        """
        Return what a model is told, in the dialect of its provider; the same object each time.

        Raises:
            ToolDefinitionError: The tool is to be strict, and the provider cannot hold a model to
                its parameters.
        """
        if dialect not in self._declarations:
            self._declarations[dialect] = self._declared(dialect)
        return self._declarations[dialect]

    def _declared(self, dialect: str) -> ToolDeclaration:
        shape = self._shape(dialect)
        if self.strict and shape.obstacles:
            raise ToolDefinitionError(
                self.name,
                f"{dialect} servers cannot hold a model to it: {'; '.join(shape.obstacles)}",
                advice="leave out strict=True: its arguments are checked as strictly",
            )
        return ToolDeclaration(
            name=self.name,
            description=self.description,
            parameters=self._wire(dialect).schema,
            target=shape.descriptor,
            strict=shape.constrained and dialect != "prompt" and self.strict is not False,
        )

    def _shape(self, dialect: str) -> Shape:
        if dialect == "prompt":
            dialect = "open"  # whose servers read the schema of a tool whatever they are told
        elif self.strict is False and dialect != "open":
            dialect = "prompt"
        if dialect not in self._shapes:
            self._shapes[dialect] = Shape(self._signature.target, dialect)
        return self._shapes[dialect]

    def _wire(self, dialect: str) -> Wire:
        wire = self._shape(dialect).wire
        assert wire is not None, "a TypedDict has a schema"
        return wire

    # From the model

    def read(self, text: str, dialect: str, handles: Handles | None = None) -> dict[str, Any]:
        """
        Return the arguments of one call by name, those that were left out with their defaults.

        Args:
            text: The arguments as the model wrote them; blank for none.
            dialect: That of the declaration which the model read.
            handles: The files that may stand in them; None to take any handle.

        Raises:
            InvalidAnswerError: They do not fit; the message is meant for the model.
        """
        try:
            arguments: dict[str, Any] = self._shape(dialect).read(_written(text), handles)
        except InvalidAnswerError as error:
            raise _unfit(self.name, error, text) from error
        return arguments

    def tree(self, text: str, dialect: str) -> Any:
        """
        Return the arguments of a call as JSON in a form that is no vendor's.

        Args:
            text: Arguments that `read` took; what they leave out is left out.
            dialect: As of `read`.
        """
        tree, _ = read(bare(_written(text)))
        return self._plain(tree, dialect)[0]

    def rewritten(self, text: str, source: str, target: str) -> str:
        """Return arguments as a model would write them in another dialect; leave what is none."""
        if self._shape(source) is self._shape(target):
            return text
        try:
            tree, faults = read(bare(_written(text)))
        except Unreadable:
            return text
        plain, problems = self._plain(tree, source)
        return text if faults or problems else self._shape(target).to_wire(plain)

    def _plain(self, tree: Any, dialect: str) -> tuple[Any, list[Problem]]:
        """Return *tree* as JSON in no vendor's form, and where it is not in that of *dialect*."""
        problems: list[Problem] = []
        plan = self._wire(dialect).plan
        return plan.decode(plan.unquote(tree), (), problems), problems

    def call(self, arguments: Mapping[str, Any], context: Context[Any]) -> Any:
        """
        Call the function with what was read.

        Where the tool is async, the result is awaited; where it is not, iterators in it are read.
        """
        injected = dict.fromkeys(self._signature.injected, context)
        function: Callable[..., Any] = self.function
        result = function(**arguments, **injected)
        if self.is_async and not inspect.isawaitable(result):
            return _ready(result)  # a plain wrapper has awaited it
        return result if self.is_async else consumed(result)

    def write(self, result: Any, handles: Handles) -> str:
        """
        Return what the model is told of *result*: a text as it is, all else as JSON.

        Args:
            result: What a call returned.
            handles: Is told of each `File` in it.

        Raises:
            ToolResultError: It has no JSON form, holds bytes, or is not of the declared type.
            FileAccessError: A file in it does not lie in the workspace.
        """
        returns = self._signature.returns
        return result_text(result, self._adapter, handles, tool=self.name, returns=returns)

    @cached_property
    def _adapter(self) -> Any:
        if self._signature.returns is Any:
            return None
        try:
            return adapter_of(self._signature.returns)
        except Exception:  # noqa: BLE001 (what is no type for pydantic is written as what it is)
            return None


@overload
def tool(
    function: Callable[P, R_co],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Iterable[str] = (),
    timeout: float | None = None,
    strict: bool | None = None,
) -> Tool[P, R_co]: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Iterable[str] = (),
    timeout: float | None = None,
    strict: bool | None = None,
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Iterable[str] = (),
    timeout: float | None = None,
    strict: bool | None = None,
) -> Any:
    """
    Make a tool of a function: `@tool`, `@tool(effects=["network"])` or `tool(function)`.

    The model is told of the parameters by their types, their defaults and the docstring (in the
    style of Google, NumPy or Sphinx). A parameter of type `Context` is filled in by ingot.

    Args:
        function: A function, plain or async, a method, a `functools.partial` or an object with
            `__call__`.
        name: What the model calls it by; None for the function's name.
        description: What the model is told that it does; None for the docstring.
        effects: What it does to the world, for a `Policy`: `network`, `filesystem_read`,
            `filesystem_write`, `external_write`, `secrets`, or a word of your own.
        timeout: Seconds that one call may take; None for as long as it likes.
        strict: Whether the vendor is to hold the model to the parameters; None where it can.

    Raises:
        ToolDefinitionError: A model cannot be offered the function.
    """
    make = partial(
        Tool,
        name=name,
        description=description,
        effects=effects,
        timeout=timeout,
        strict=strict,
    )
    return make if function is None else make(function)


def is_tool(value: Any) -> TypeIs[Tool]:
    """Whether *value* is a tool, of whatever parameters."""
    return isinstance(value, Tool)


# Settings


def _named(function: Any, name: str | None) -> str:
    kind = type(function).__name__
    if not callable(function) or isinstance(function, type) or is_tool(function):
        what = "a class" if isinstance(function, type) else f"a `{kind}`"
        raise ToolDefinitionError(
            f"{function!r:.80}",
            f"it is {what}",
            advice="a tool is made of a function, a method or an object with `__call__`",
        )
    if name is None:
        inner = getattr(function, "func", function)  # of a partial
        name = str(getattr(function, "__name__", None) or getattr(inner, "__name__", kind))
    if not _NAME.fullmatch(name):
        raise ToolDefinitionError(
            name,
            "vendors take names of 1 to 64 letters of English, digits, `_` and `-`",
            advice="give it a name: tool(name=…)",
        )
    return name


def _effects(words: Any) -> frozenset[str]:
    made = frozenset(words)
    if isinstance(words, str) or not all(isinstance(w, str) and w.isidentifier() for w in made):
        raise TypeError(f"effects must be a list of words such as 'network', not {words!r:.80}")
    return made


def _seconds(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    try:
        return number(0, more=True)(timeout)
    except ValueError as error:
        raise TypeError(f"timeout must be {error}, not {timeout!r:.80}") from None


# Arguments


def _written(text: str) -> str:
    return text if text.strip() else "{}"


def _unfit(tool: str, error: InvalidAnswerError, text: str) -> InvalidAnswerError:
    """Say of arguments what *error* says of an answer."""
    if isinstance(error, UnreadableAnswerError):
        message = f"the arguments of `{tool}` are not JSON: {error.reason}"
    else:
        problems = "; ".join(map(str, error.problems[:_SHOWN]))
        message = f"the arguments of `{tool}` do not fit: {problems}"
    return InvalidAnswerError(message, target=tool, problems=error.problems, text=text)


async def _ready(result: Any) -> Any:
    return result
