"""Policies: a rule for each effect, the strictest of several, and what is refused at once."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import pytest

from ingot import NotConfiguredError, Policy, PolicyError
from ingot._policy import Decision


class Does(NamedTuple):
    """What declares effects."""

    name: str
    effects: frozenset[str]


def does(*effects: str, name: str = "send") -> Does:
    return Does(name, frozenset(effects))


POLICY = Policy(network="allow", external_write="require_approval", secrets="deny")


@pytest.mark.parametrize(
    ("effects", "decision"),
    [
        ([], Decision("allow")),
        (["network"], Decision("allow", "network")),
        (["external_write"], Decision("require_approval", "external_write")),
        (["secrets"], Decision("deny", "secrets")),
        (["filesystem_read"], Decision("deny", "filesystem_read", stated=False)),
        (["network", "external_write"], Decision("require_approval", "external_write")),
        (["secrets", "network", "external_write"], Decision("deny", "secrets")),
        (["secrets", "aardvark"], Decision("deny", "aardvark", stated=False)),
    ],
    ids=str,
)
def test_the_strictest_rule_counts(effects: list[str], decision: Decision) -> None:
    """An effect without a rule is denied; no effects are allowed."""
    assert decision == POLICY.decide(effects)
    assert decision == POLICY.decide(list(reversed(effects)))


def test_a_policy_is_a_value() -> None:
    """Compared without order, hashed, pickled, and its repr is how it is made."""
    other = Policy.of({"secrets": "deny", "network": "allow", "external_write": "require_approval"})

    assert POLICY == other == eval(repr(POLICY)) == pickle.loads(pickle.dumps(POLICY))
    assert hash(POLICY) == hash(other)
    assert POLICY != Policy(network="allow")


@pytest.mark.parametrize("rule", ["alow", None, True])
def test_a_rule_is_one_of_three_words(rule: Any) -> None:
    """The misspelt one is recognised."""
    with pytest.raises(
        ValueError, match=r"Policy\(network=…\) is one of 'allow', 'deny'"
    ) as caught:
        Policy(network=rule)

    assert ("did you mean 'allow'" in str(caught.value)) == (rule == "alow")


def test_what_is_allowed_is_offered() -> None:
    """And what needs an approval, where there is somebody to ask."""
    POLICY.check([does(), does("network")], can_ask=False)
    POLICY.check([does("network", "external_write")], can_ask=True)

    assert POLICY.decide({"network"}).rule == "allow"
    assert POLICY.decide({"network", "external_write"}).rule == "require_approval"


def test_what_is_denied_is_refused() -> None:
    """The error names tool, effect and rule."""
    with pytest.raises(PolicyError) as caught:
        POLICY.check([does("network"), does("secrets", name="leak")], can_ask=True)

    error = caught.value
    assert ("leak", "secrets", "deny") == (error.tool, error.effect, error.rule)
    assert str(error) == (
        "the tool 'leak' has the effect 'secrets', and the policy says 'deny'; "
        "leave the tool out, or change the rule"
    )


def test_an_effect_without_a_rule_is_refused() -> None:
    """A rule that was meant for it is named."""
    with pytest.raises(PolicyError) as caught:
        Policy(netwrok="allow").check([does("network")], can_ask=True)

    assert caught.value.rule is None
    assert str(caught.value) == (
        "the tool 'send' has the effect 'network', and the policy has no rule for it; "
        "add network='allow' or network='require_approval', or leave the tool out; "
        "did you mean 'netwrok'?"
    )


def test_an_approval_needs_somebody() -> None:
    """It is found out before anything is sent."""
    with pytest.raises(NotConfiguredError, match="there is nobody to ask; pass approve="):
        POLICY.check([does("external_write")], can_ask=False)
