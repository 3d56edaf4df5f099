"""Programs as providers: one that is named when the provider is made, and any, named as a model."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from ingot._conceal import concealed
from ingot._params import refuse_attachments
from ingot._program import argv_of
from ingot.errors import NotConfiguredError
from ingot.exec.exchange import as_request, as_response
from ingot.exec.program import MAX_OUTPUT, Program
from ingot.exec.wire import ProviderReply, parse, write
from ingot.exec.words import failure_of
from ingot.provider import Provider

if TYPE_CHECKING:
    import os

    from ingot._program import Command, Environment
    from ingot._request import Request
    from ingot._response import Response

__all__ = ["AnyProgram", "Exec"]

_TIMEOUT = 60.0
"""Seconds that a program may take where neither it nor the ask sets a timeout."""


class Exec(Provider):
    """
    A program as a provider, which speaks the exec protocol.

    It is started for each request: `ask(list[str], prompt, model=Exec(["./provider.py"]))`.

    Args:
        command: The program and its arguments; a text is split as a shell does it, and no shell
            reads it.
        env: Variables that it gets beside `PATH`, `HOME`, `LANG`, `LC_*`, `TMPDIR`, `SYSTEMROOT`
            and `DOMARINN_PROTOCOL`; None for none; `inherit` for all of this process's, as for a
            program that reads keys.
        cwd: Its folder, which a relative path of the program starts from; None for this process's.
        timeout: Seconds for each request, from the start to the end; None for the ask's own
            timeout, or 60 where there is none.
        salt: Any text that tells recordings of this program apart, such as its version; None for
            none.
        max_output: Bytes that it may write to stdout.

    Raises:
        NotConfiguredError: The command is empty, or another argument is of the wrong kind.
    """

    name = "exec"
    dialect = "prompt"

    def __init__(
        self,
        command: Command,
        *,
        env: Environment = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
        salt: str | None = None,
        max_output: int = MAX_OUTPUT,
    ) -> None:
        self.program = Program(
            argv=argv_of(command), env=env, cwd=cwd, timeout=timeout, max_output=max_output
        )
        self.default_model = _called(self.program.argv, salt)

    def __repr__(self) -> str:
        return f"<provider exec: {self.default_model}>"

    def send(self, request: Request) -> Response:
        """
        Run the program once.

        Raises:
            ExecError: It could not be run to a good end, or told a failure in a word of its own.
            ProviderError: It told a failure in a word of the protocol.
        """
        refuse_attachments(request, self.name, self.media_types)
        with concealed(request.attachments, self.name):
            program = self._bounded(request)
            return program.run(write(as_request(request)), self._read)

    async def asend(self, request: Request) -> Response:
        """Like `send`, without blocking the event loop; when cancelled, the program is killed."""
        refuse_attachments(request, self.name, self.media_types)
        with concealed(request.attachments, self.name):
            program = self._bounded(request)
            return await program.arun(write(as_request(request)), self._read)

    def _bounded(self, request: Request) -> Program:
        """The program with the deadline of *request*: the nearer one, where both have one."""
        bounds = [each for each in (self.program.timeout, request.timeout) if each is not None]
        return replace(self.program, timeout=min(bounds, default=_TIMEOUT))

    def _read(self, document: str) -> Response:
        reply = ProviderReply.read(parse(document))
        if reply.error is not None:
            program = self.program
            raise failure_of(reply.error, reply.metadata, program.argv[0], program.secrets())
        return as_response(reply, document)


class AnyProgram(Provider):
    """
    The program that a model string names: `exec/./provider.py --fast`.

    It gets the least environment, the working folder and the ask's timeout; `Exec` chooses others.
    """

    name = "exec"
    dialect = Exec.dialect
    default_model = ""

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        if base_url is not None or api_key is not None:
            raise NotConfiguredError(
                "a program is given neither base_url nor api_key",
                advice="hand it what it needs: model=Exec(['./provider.py'], env={…})",
            )

    @classmethod
    def obstacle(cls) -> str | None:
        """Why this provider cannot be asked when no model is named."""
        return "the model names the program: exec/./provider.py"

    def send(self, request: Request) -> Response:
        """Run the program that the model names."""
        return Exec(request.model).send(request)

    async def asend(self, request: Request) -> Response:
        """Like `send`, without blocking the event loop."""
        return await Exec(request.model).asend(request)


def _called(argv: tuple[str, ...], salt: str | None) -> str:
    """
    The command as the name of a model, which is part of the key of a recording.

    Of an absolute path only the last part is left, as others have the program elsewhere.
    """
    program = PurePath(argv[0])
    first = program.name if program.is_absolute() else argv[0]
    called = shlex.join((first, *argv[1:]))
    return called if salt is None else f"{called} # {salt}"
