"""What reads a part of an answer, by what was asked for and how the part begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._shape.candidates import Members
from ingot._shape.containers import Fields, Listing, Map, Pairs, Places, Under
from ingot._shape.growth import FREE, Entries, Growth, Items, Root, Words
from ingot._shape.plan import Leaf, Plan, Reference, Union
from ingot._shape.rewritten import Entry, Named, Pair, PairList, Placed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["grow"]


def grow(part: Growth, kind: str) -> Growth | None:
    """Return what reads the part of *part* that begins as *kind* of JSON; None to hold it back."""
    plan = _settled(part.plan, kind) if part.certain else None
    return None if plan is None else _reading(plan, kind, part.put, part.root)


def _reading(plan: Plan, kind: str, show: Callable[[Any], None], root: Root) -> Growth:
    """Return what reads a part that is settled to be *plan*."""
    if kind == "a string":
        return Words(show, root)
    match plan:
        case Listing():
            return Items((), plan.item, show, root)
        case Places():
            if plan.names is None:
                return Items(plan.plans, plan.rest or FREE, show, root)
            return Placed(plan, show, root)
        case Fields():
            return Members((plan,), show, root)
        case Union():
            return Members(tuple(m for m in plan.members if isinstance(m, Fields)), show, root)
        case Map():
            return Entries(plan.value, show, root)
        case Pairs():
            return PairList(plan, show, root)
        case Entry():
            return Pair(plan, root)
        case Under():
            return Named(plan, show, root)
        case _ if kind == "an array":
            return Items((), FREE, show, root)
        case _:
            return Entries(FREE, show, root)


def _settled(plan: Plan, kind: str) -> Plan | None:
    """
    What a part is, as far as its first character tells, *kind*, and it matters.

    Returns:
        A plan that is no reference; a union only of classes with fields; None where what is there
        stands for different things by what follows, may be a value that is not finished, or is of
        another kind than was asked for.
    """
    members = [m for m in _members(plan) if m.kind in (kind, "any")]
    members = [m for n, m in enumerate(members) if m not in members[:n]]
    if len(members) > 1:
        classes = all(isinstance(member, Fields) for member in members)
        return Union(tuple(members)) if classes else None
    if not members or (isinstance(members[0], Leaf) and members[0].values is not None):
        return None
    plan = members[0]
    # A tuple's open end travels in a list of its own, and joins the rest when all is there.
    ends_open = isinstance(plan, Places) and plan.names is not None and plan.rest is not None
    if ends_open or (kind == "a string" and not isinstance(plan, Leaf)):
        return None
    return plan


def _members(plan: Plan) -> Iterator[Plan]:
    if isinstance(plan, Reference):
        yield from _members(plan.table[plan.name])
    elif isinstance(plan, Union):
        for member in plan.members:
            yield from _members(member)
    else:
        yield plan
