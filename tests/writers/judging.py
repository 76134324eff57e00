"""Whether the product shows a program's history as it was: each state, in order, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bson

from model.foundation.records import Version
from model.layouts.registry import bind
from model.patches.meaning import same_meaning
from model.patches.tree import Node, alike, tree_of
from model.session import Session
from model.values.canonical import Value
from model.writers.writers import preset
from tests.writers.libraries import VARIANTS, Told, told

LAYOUTS = {
    "unknown/axon": {"domainevents": "log", "snapshotevents": "log"},
    "unknown/emmett": {"emt:item": "plain"},
    "unknown/eventstore": {"events": "log", "snapshots": "log"},
    "unknown/historical-collection": {"__deltas_users": "plain", "users": "plain"},
    "unknown/langgraph": {"checkpoint_writes": "plain", "checkpoints": "plain"},
    "unknown/mongoengine-history": {"history": "log", "items": "plain"},
    "unknown/mongoose-audit": {"audits": "log", "items": "plain"},
    "unknown/mongoose-audit-trail": {"histories": "log", "items": "plain"},
    "unknown/mongoose-log-history": {"log_histories_item": "log", "items": "plain"},
    "unknown/mongoose-trackable": {"items": "plain"},
    "unknown/mongoose-user-history-plugin": {"histories": "plain", "items": "plain"},
    "unknown/mongoose-version-history": {"items_hs": "log", "items": "plain"},
    "unknown/yjs": {"transactions": "plain"},
}
"""What the collections of libraries are that there is no preset of: read as they are, and nothing claimed."""


@dataclass
class Verdict:
    """What a look through one dump found."""

    exact: int = 0  # states equal to the byte's type
    alike: int = 0  # equal as JSON, in which the program kept them: dates are text
    wrong: list[str] = field(default_factory=list)
    findings: int = 0

    @property
    def states(self) -> int:
        """How many were right."""
        return self.exact + self.alike


def judged(name: str, folder: Path) -> Verdict:
    """Open the dump of a program and hold every history against what its script said."""
    verdict = Verdict()
    program = name.partition("/")[0]
    options = VARIANTS.get(name, {})
    with Session.open(str(folder / name)) as session:
        known = {info.ns: info for info in session.catalogue.collections()}
        lives: dict[tuple[str, bytes], list[Told]] = {}
        for each in told(name, folder):
            lives.setdefault((each.ns, bson.encode({"": each.id})), []).append(each)
        for (ns, _), life in lives.items():
            if known[ns].writer != preset(program).title:
                verdict.wrong.append(f"{ns} is taken for {known[ns].layout}: {known[ns].why}")
                return verdict
            if life[-1].kind == "purged":
                continue
            id = Value.of(life[0].id)
            if options.get("expired") and not session.catalogue.layout(ns).reader.exists(id):
                continue
            versions = [session.history.version(ns, id, each.v) for each in session.history.versions(ns, id)][::-1]
            profile = session.catalogue.layout(ns).profile
            ignored = (*profile.ignored, *(name for name in [profile.id] if name != "_id"))
            if name in VARIANTS:  # the options say what is left out, not the product
                ignored = (*preset(program).keys["ignored"], *options.get("omit", ()))
            life = _recorded(life, ignored) if options.get("omit") else life
            life = life[-len(versions) :] if options.get("expired") else life
            _compare(ignored, f"{ns} {life[0].id}", versions, life, verdict)
        verdict.findings = sum(1 for _ in session.scans.scan([]))
    return verdict


def _recorded(life: list[Told], ignored: Sequence[str]) -> list[Told]:
    """The saves that a program made a row of, as they changed what it records."""
    found = [life[0]]
    for each in life[1:]:
        old, new = ({} if one.state is None else _stripped(ignored, one.state) for one in (found[-1], each))
        if each.kind == "removed" or not alike(old, new):
            found.append(each)
        else:
            found[-1] = each
    return found


def _compare(ignored: Sequence[str], where: str, versions: list[Version], life: list[Told], verdict: Verdict) -> None:
    states = [each for each in life if each.kind != "removed"]
    gone = life[-1].kind == "removed"
    tail = versions[len(states) :]
    if len(versions) not in (len(states), len(states) + gone) or any(each.detail != "deleted" for each in tail):
        verdict.wrong.append(f"{where}: {len(versions)} versions for {len(life)} saves")
        return
    for version, save in zip(versions, states, strict=False):
        if save.kind == "draft":
            verdict.alike += version.detail == "draft"
            continue
        if version.content is None or save.state is None:
            verdict.wrong.append(f"{where}: {version.detail}")
            continue
        shown, wanted = tree_of(version.content), _stripped(ignored, save.state)
        if shown == wanted:
            verdict.exact += 1
        elif alike(shown, wanted):
            verdict.alike += 1
        else:
            verdict.wrong.append(f"{where} {version.v}: {_difference(shown, wanted)}")


def _stripped(ignored: Sequence[str], state: dict[str, Any]) -> Node:
    """The stored document without what is no content, and what its program was told to leave out."""
    tree: Node = tree_of(bson.encode({key: value for key, value in state.items() if key not in ("_id", *ignored)}))
    for deep in (each.removeprefix("**.") for each in ignored if each.startswith("**.")):
        tree = _without(tree, deep)
    for path in (each.split(".") for each in ignored if "." in each and not each.startswith("**.")):
        inner = tree.get(path[0]) if isinstance(tree, dict) else None
        if isinstance(inner, dict):
            inner.pop(path[1], None)
    return _without(tree, "_id") if "_id" in ignored else tree


def _without(node: Node, name: str) -> Node:
    if isinstance(node, dict):
        return {key: _without(each, name) for key, each in node.items() if key != name}
    return [_without(each, name) for each in node] if isinstance(node, list) else node


def _difference(shown: Node, wanted: Node) -> str:
    assert isinstance(shown, dict)
    assert isinstance(wanted, dict)
    both = shown.keys() & wanted.keys()
    names = {*shown, *wanted} - {name for name in both if alike(shown[name], wanted[name])}
    return f"{', '.join(sorted(names))} differ"


OFFERED = (
    "unknown/historical-collection",
    "unknown/mongoose-audit",
    "unknown/mongoose-audit-trail",
    "unknown/mongoose-log-history",
    "unknown/mongoose-trackable",
    "unknown/mongoose-version-history",
)
"""Libraries that there is no preset of, whose histories are offered."""


def offered(name: str, folder: Path) -> Verdict:
    """Open the dump of a library without a preset, and hold what is offered against what its script said.

    A library may leave out a save; each state that it has must be one that was saved, in the order of the saves.
    """
    verdict = Verdict()
    with Session.open(str(folder / name)) as session:
        lives: dict[bytes, list[Told]] = {}
        places = set()
        for each in told(name, folder):
            lives.setdefault(bson.encode({"": each.id}), []).append(each)
            places.add(each.ns)
        made = next(session.catalogue.offers(sorted(places)), None)
        if made is None:
            return Verdict(wrong=["nothing is offered"])
        layout = bind(session.catalogue._port, made.profile)
        ignored = (*made.profile.ignored, *(key for key in [made.profile.id] if key != "_id"))
        for life in lives.values():
            if life[-1].state is None and not layout.reader.exists(Value.of(life[0].id)):
                continue  # its rows went with it
            saves = iter([_stripped(ignored, each.state) for each in life if each.state is not None])
            for version in list(layout.history(Value.of(life[0].id), contents=True))[::-1]:
                if version.detail == "deleted":
                    continue
                shown = tree_of(version.content or b"\5\0\0\0\0")
                if not any(same_meaning(shown, each) for each in saves):  # goes on behind the one before
                    verdict.wrong.append(f"{life[0].id} {version.v} was never saved: {version.detail}")
                    break
                verdict.alike += 1
    return verdict


def misjudged(name: str, folder: Path) -> list[str]:
    """What is said of a library's collections that is not so, where there is no preset of it."""
    with Session.open(str(folder / name)) as session:
        found = {info.ns.partition(".")[2]: info for info in session.catalogue.collections()}
        wrong = [
            f"{ns} is taken for {info.layout}" for ns, info in found.items() if info.layout != LAYOUTS[name].get(ns)
        ]
        return [*wrong, *(str(each) for each in session.scans.scan([]))]
