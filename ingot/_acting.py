"""What an ask that acts has beside its request: tools, files, a budget, somebody who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingot._budget.meter import meter_for
from ingot._calls import Toolbox
from ingot._handles import Handles
from ingot._shape.content import File
from ingot._telling import Teller
from ingot._workspace import Workspace
from ingot.errors import FileAccessError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ingot._attach import Attachable
    from ingot._budget.meter import Meter
    from ingot._request import Attachment

__all__ = ["Acting", "acting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """
    What an ask that acts has.

    Attributes:
        tools: The tools, and the files that are known; None where there is neither.
        meter: What it may spend.
        tell: Tells of events.
        attachments: What is sent along.
    """

    tools: Toolbox | None
    meter: Meter
    tell: Teller
    attachments: tuple[Attachment, ...] = ()

    @property
    def files(self) -> bool:
        """Whether there are files, or may come to be, that a model can be asked for."""
        box = self.tools
        return box is not None and bool(
            box.handles.known or any(tool.produces_files for tool in box.tools.values())
        )


def acting(chosen: Mapping[str, Any], attach: Iterable[Attachable] | None) -> Acting:
    """
    Return what an ask with these settings acts with; a file to be sent along is read now.

    Args:
        chosen: The settings in force.
        attach: What is sent along; None for nothing.

    Raises:
        FileAccessError: A file cannot be sent along.
        PolicyError: A tool does what the policy denies.
        NotConfiguredError: A tool needs an approval, and there is nobody to ask.
    """
    tell = Teller(chosen.get("on_event"))
    meter = meter_for(chosen.get("budget"))
    box: Toolbox | None = None
    if attach is not None or "tools" in chosen or "workspace" in chosen:
        tools, policy, approve = (chosen.get(name) for name in ("tools", "policy", "approve"))
        if policy is not None:
            policy.check(tools or (), can_ask=approve is not None)
        box = Toolbox(
            tools={tool.name: tool for tool in tools or ()},
            handles=Handles(chosen.get("workspace") or Workspace(".")),
            meter=meter,
            deps=chosen.get("deps"),
            policy=policy,
            approve=approve,
            raise_errors=chosen.get("raise_errors", ()),
            tell=tell,
        )
    return Acting(tools=box, meter=meter, tell=tell, attachments=_attached(attach, box))


def _attached(attach: Iterable[Attachable] | None, box: Toolbox | None) -> tuple[Attachment, ...]:
    if attach is None or box is None:
        return ()
    from ingot._attach import attachments

    items = list(attach) if isinstance(attach, Iterator) else attach  # it is read twice
    attached = attachments(items)
    for item in items:
        if isinstance(item, File):
            _admit(item, box.handles)
    return attached


def _admit(file: File, handles: Handles) -> None:
    """The model may name a file that it was sent, if it lies where files of the ask lie."""
    # One of another workspace is sent, and is no handle here.
    with suppress(FileAccessError):
        handles.admit(file)
