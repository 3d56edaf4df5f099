"""
Programs in any language as providers, judges and generators of tests; and ingot as one too.

Names are imported when they are first used, so that `import ingot.exec` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.exec.child import serve
    from ingot.exec.errors import (
        ExecError,
        ExecExitError,
        ExecOutputError,
        ExecStartError,
        ExecTimeoutError,
    )
    from ingot.exec.host import (
        Verdict,
        agenerate_tests,
        arun_assert,
        generate_tests,
        run_assert,
    )
    from ingot.exec.provider import Exec
    from ingot.exec.verdicts import check
    from ingot.exec.wire import (
        AssertReply,
        AssertRequest,
        GenerateReply,
        GenerateRequest,
        ProviderReply,
        ProviderRequest,
    )
    from ingot.exec.wire_parts import Call, Failure, Offer, TestRef, Tokens

__all__ = [
    "AssertReply",
    "AssertRequest",
    "Call",
    "Exec",
    "ExecError",
    "ExecExitError",
    "ExecOutputError",
    "ExecStartError",
    "ExecTimeoutError",
    "Failure",
    "GenerateReply",
    "GenerateRequest",
    "Offer",
    "ProviderReply",
    "ProviderRequest",
    "TestRef",
    "Tokens",
    "Verdict",
    "agenerate_tests",
    "arun_assert",
    "check",
    "generate_tests",
    "run_assert",
    "serve",
]

_HOMES = {
    "Call": "wire_parts",
    "Exec": "provider",
    "ExecError": "errors",
    "ExecExitError": "errors",
    "ExecOutputError": "errors",
    "ExecStartError": "errors",
    "ExecTimeoutError": "errors",
    "Failure": "wire_parts",
    "Offer": "wire_parts",
    "TestRef": "wire_parts",
    "Tokens": "wire_parts",
    "Verdict": "host",
    "agenerate_tests": "host",
    "arun_assert": "host",
    "check": "verdicts",
    "generate_tests": "host",
    "run_assert": "host",
    "serve": "child",
}
"""Modules of the names that are no messages."""


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take any name for one of ours.

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'ingot.exec' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"ingot.exec.{_HOMES.get(name, 'wire')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
