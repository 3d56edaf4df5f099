"""What tools may do: a rule for each effect that they declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, get_args

from ingot._spelling import nearest
from ingot.errors import NotConfiguredError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["Acting", "Decision", "Policy", "Rule"]

Rule: TypeAlias = Literal["allow", "deny", "require_approval"]

_RULES: tuple[Rule, ...] = get_args(Rule)


class Acting(Protocol):
    """What declares effects, as a tool does."""

    @property
    def name(self) -> str:
        """How it is called."""
        ...

    @property
    def effects(self) -> frozenset[str]:
        """What it does to the world; nothing when empty."""
        ...


class Decision(NamedTuple):
    """
    What a policy says of several effects together.

    Attributes:
        rule: The strictest of their rules.
        effect: The effect that decided, the first by name; None where there are no effects.
        stated: Whether the policy has a rule for it; where it has none, the effect is denied.
    """

    rule: Rule
    effect: str | None = None
    stated: bool = True


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Policy:
    """
    A rule for each effect: `allow`, `deny` or `require_approval`.

        Policy(network="allow", external_write="require_approval")

    An effect without a rule is denied. A tool without effects is always allowed. Without any policy
    everything is.

    Args:
        rules: The rules, by effect.

    Raises:
        ValueError: A rule is none of the three words.
    """

    rules: tuple[tuple[str, Rule], ...]

    def __init__(self, **rules: Rule) -> None:
        for effect, rule in rules.items():
            if rule not in _RULES:
                raise ValueError(
                    f"Policy({effect}=…) is one of {', '.join(map(repr, _RULES))}, "
                    f"not {rule!r:.80}{nearest(str(rule), _RULES)}"
                )
        object.__setattr__(self, "rules", tuple(sorted(rules.items())))

    @classmethod
    def of(cls, rules: Mapping[str, Rule]) -> Policy:
        """Return the policy of a mapping from effects to rules."""
        return cls(**rules)

    def __repr__(self) -> str:
        return f"Policy({', '.join(f'{effect}={rule!r}' for effect, rule in self.rules)})"

    def decide(self, effects: Collection[str]) -> Decision:
        """Return the strictest rule for *effects*, and which of them it comes from."""
        rules = dict(self.rules)
        found = [
            Decision(rules.get(effect, "deny"), effect, effect in rules)
            for effect in sorted(effects)
        ]
        return max(found, key=lambda each: _STRICTNESS[each.rule], default=Decision("allow"))

    def check(self, tools: Iterable[Acting], *, can_ask: bool) -> None:
        """
        See that each of *tools* may be offered.

        Args:
            tools: What is to be offered.
            can_ask: Whether there is a person who can approve a call.

        Raises:
            PolicyError: An effect of a tool is denied.
            NotConfiguredError: A tool needs an approval, and there is nobody to ask.
        """
        for tool in tools:
            rule, effect, stated = self.decide(tool.effects)
            if effect is None or rule == "allow":
                continue
            if rule == "deny":
                raise self._denied(tool.name, effect, stated=stated)
            if not can_ask:
                raise NotConfiguredError(
                    f"the tool {tool.name!r} has the effect {effect!r}, which needs the approval "
                    "of a person, and there is nobody to ask",
                    advice="pass approve=…, such as approve=approve_in_terminal",
                )

    def _denied(self, tool: str, effect: str, *, stated: bool) -> PolicyError:
        if stated:
            return PolicyError(
                tool, effect, "deny", advice="leave the tool out, or change the rule"
            )
        meant = nearest(effect, [known for known, _ in self.rules])
        return PolicyError(
            tool,
            effect,
            advice=f"add {effect}='allow' or {effect}='require_approval', or leave the tool out"
            + meant,
        )


_STRICTNESS: dict[Rule, int] = {"allow": 0, "require_approval": 1, "deny": 2}
