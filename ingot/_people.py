"""People who are asked in the middle of an ask: to approve a call, or to answer the model."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot._tool import Tool
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Approver: TypeAlias = "Callable[[Approval], bool | Awaitable[bool]]"
    Person: TypeAlias = "Callable[[Consultation], str | Awaitable[str]]"

__all__ = [
    "Approval",
    "Consultant",
    "Consultation",
    "answer_in_terminal",
    "approve_in_terminal",
    "consult",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """
    A call of a tool that a person is to approve.

    Attributes:
        tool: Name of the tool.
        arguments: The arguments that the model wrote, as JSON by name.
        effects: What the tool does to the world, by the alphabet.
    """

    tool: str
    arguments: Mapping[str, Any] = field(hash=False)
    effects: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """The question in words, without the arguments."""
        effects = f" (effects: {', '.join(self.effects)})" if self.effects else ""
        return f"May the tool `{self.tool}`{effects} be called?"

    def accept(self, answer: object) -> bool:
        """
        Return *answer*, if it is one.

        Raises:
            TypeError: It is neither True nor False; a text such as "no" would count as a yes.
        """
        if isinstance(answer, bool):
            return answer
        raise TypeError(f"approve must return True or False, not {type(answer).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consultation:
    """
    A question that the model puts to a person.

    Attributes:
        question: The question, in the words of the model.
        choices: What there is to choose from; anything may be answered when it is empty.
    """

    question: str
    choices: tuple[str, ...] = ()

    def accept(self, answer: object) -> str:
        """
        Return *answer*, if it is one.

        Raises:
            TypeError: It is no text.
            ValueError: It is none of the choices.
        """
        if not isinstance(answer, str):
            raise TypeError(f"a person answers with a text, not {type(answer).__name__}")
        if self.choices and answer not in self.choices:
            raise ValueError(f"the answer is none of the choices: {', '.join(self.choices)}")
        return answer


class Consultant:
    """
    What the tool `consult` calls: it puts the question to a person and returns the answer.

    Attributes:
        person: Answers a `Consultation` with a text; may be a coroutine function where ingot calls
            the tool. A plain one is called in a thread by `ask.aio`, and finds no event loop there.
    """

    def __init__(self, person: Person) -> None:
        self.person = person

    def __call__(self, question: str, choices: list[str] | None = None) -> str:
        """
        Ask the person for whom you work, and wait for the answer.

        Use it where you cannot know or must not decide something yourself.

        Args:
            question: What to ask, in full: the person does not see this conversation.
            choices: The answers to choose from; leave it out where any answer will do.
        """
        asked = self.consultation(question, choices)
        return asked.accept(self.person(asked))

    def consultation(self, question: str, choices: list[str] | None = None) -> Consultation:
        """What the person is asked; a choice that stands twice is one."""
        return Consultation(question=question, choices=tuple(dict.fromkeys(choices or ())))


def consult(person: Person | None = None) -> Tool[..., str]:
    """
    Return a tool by which the model asks a person.

        ask.using(tools=[consult()])(Plan, "Plan my trip.")

    Args:
        person: Answers a `Consultation` with a text, which must be one of the choices if there are
            any; plain or async. None for whoever sits at the terminal.
    """
    return Tool(Consultant(person or answer_in_terminal), name="consult")


_SHOWN = 10_000
"""Characters of what a model wrote that a terminal shows; the rest is counted."""

_terminal = threading.Lock()
"""Held while a person is asked, since tools may run at the same time."""


def approve_in_terminal(approval: Approval) -> bool:
    """
    Ask whoever sits at the terminal; only `y` and `yes` approve.

    Raises:
        NotConfiguredError: Nobody sits there.
    """
    arguments = json.dumps(approval.arguments, ensure_ascii=False, indent=2)
    with _terminal:
        _show(f"{approval.question} Its arguments:", arguments)
        return _line("Allow it? [y/N] ", "approve").casefold() in ("y", "yes")


def answer_in_terminal(consultation: Consultation) -> str:
    """
    Put a question to whoever sits at the terminal, again until the answer is one.

    A choice is answered by its text or its number.

    Raises:
        NotConfiguredError: Nobody sits there.
    """
    choices = consultation.choices
    # Numbers would be mistaken for choices that are numbers.
    numbered = not any(each.isdecimal() for each in choices)
    numbers = {str(n): each for n, each in enumerate(choices, 1)} if numbered else {}
    with _terminal:
        _show("The model asks:", consultation.question)
        for number, choice in enumerate(choices, 1):
            _show(f"{number}:" if numbered else "Choice:", choice)
        while True:
            said = _line("Your answer: ", "person")
            if said in numbers:
                return numbers[said]
            if said in choices or (said and not choices):
                return said


def _show(title: str, text: str) -> None:
    """
    Show on stderr what a model wrote, marked off from what ingot says.

    It can neither move the cursor nor write a line that looks like one of ours.
    """
    shown = "".join(
        char if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}"
        for char in text[:_SHOWN]
    )
    lines = [title, *(f"  | {line}" for line in shown.split("\n"))]
    if len(text) > _SHOWN:
        lines.append(f"  … and {len(text) - _SHOWN:,} more characters, which are not shown")
    sys.stderr.write("\n".join(lines) + "\n")


def _line(prompt: str, setting: str) -> str:
    """The next line that a person types, without blanks around it."""
    somebody = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    try:
        # A notebook has no terminal, and its `input` asks in the page.
        if somebody or "ipykernel" in sys.modules:
            sys.stderr.write(prompt)
            sys.stderr.flush()
            return input().strip()
    except (EOFError, NotImplementedError):
        sys.stderr.write("\n")
    raise NotConfiguredError(
        "a person is to be asked, and nobody sits at the terminal",
        advice=f"run it in a terminal, or pass {setting}=… a function that knows the answer",
    )
