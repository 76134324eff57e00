"""The window's texts for findings and repairs: verbs for buttons, verdicts, unchecked places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from gui.language import tr, translated
from gui.style import symbols, wording
from gui.style.cells import Badge
from model import text
from model.errors import Unreadable
from model.foundation.findings import Unchecked
from model.session.repairs import BLOCKS, CLASSES, DOUBT, REPAIRS, DamageClass, Repair
from model.values.canonical import Value, fields

VERDICTS = {
    "would": ("check", "acc"),
    "young": ("minus", "text2"),
    "changed": ("warning", "warn"),
    "refused": ("warning-circle", "err"),
    "asks": ("question", "warn"),
    "nothing": ("minus", "text2"),
}
ENDS = {
    "applied": ("check-circle", "acc"),
    "skipped": ("minus", "text2"),
    "refused": ("warning-circle", "err"),
    "conflict": ("warning", "warn"),
    "unknown": ("question", "warn"),
}


def verb(repairs: Sequence[str]) -> str:
    """The text of the last button: ``Remove 14 phantom versions``, or ``Repair 3 findings`` for mixed kinds."""
    count = len(repairs)
    repair = _alone(repairs)
    if repair is None:
        return tr("Repair {findings}", findings=wording.many(count, "finding"))
    return tr(
        "{verb} {count}",
        verb=translated(repair.verb),
        count=wording.many(count, repair.noun, repair.nouns or f"{repair.noun}s"),
    )


def done_word(repairs: Sequence[str]) -> str:
    """``removed``, or ``repaired`` for mixed kinds."""
    repair = _alone(repairs)
    return translated(repair.done) if repair is not None else tr("repaired")


def removes(repairs: Sequence[str]) -> bool:
    """Whether these repairs only remove documents."""
    return bool(repairs) and all(name in REPAIRS and REPAIRS[name].removes for name in repairs)


def _alone(repairs: Sequence[str]) -> Repair | None:
    """The only kind of repair among these; None if there are several, or none."""
    kinds = set(repairs)
    return REPAIRS.get(next(iter(kinds))) if len(kinds) == 1 else None


def badge(found: DamageClass) -> tuple[str, str]:
    """Text and background colour of a class's badge, by its effect on people."""
    if found.group == BLOCKS:
        return "err", "errT"
    if found.group == DOUBT:
        return "warn", "warnT"
    return "typ", "typT"


def code_badge(found: DamageClass) -> Badge:
    """A class's code; all codes have one width, so that the names after them align."""
    return Badge(found.code, *badge(found), like=_widest())


@cache
def _widest() -> str:
    return max(CLASSES, key=symbols.badge_width)


def not_checked(unchecked: Sequence[Unchecked]) -> str:
    """The documents that were not checked, in one sentence; "" if all were."""
    documents = Counter(each.ns for each in unchecked if each.id is not None)
    parts = [
        tr("{documents} of {ns}", documents=wording.many(count, "document"), ns=ns) for ns, count in documents.items()
    ]
    parts += [f"{each.ns} ({translated(each.why).rstrip('.')})" for each in unchecked if each.id is None]
    if not parts:
        return ""
    most = parts[:4] + ([tr("{parts} more", parts=len(parts) - 4)] if len(parts) > 4 else [])
    return tr("Not checked: {most}.", most="; ".join(most))


def digest(raw: bytes | None) -> str:
    """A stored document in a few words: ``{ docId: "K-204120", … 24 fields }``."""
    if raw is None:
        return ""
    try:
        found: list[tuple[str, Value]] = fields(raw)
    except Unreadable:
        return tr("{raw} that do not decode", raw=wording.size(len(raw)))
    named = next(((n, v) for n, v in found if n != "_id" and not v.is_container), None) or (found[0] if found else None)
    if named is None:
        return "{ }"
    name, value = named
    more = f", … {wording.many(len(found), 'field')}" if len(found) > 1 else ""
    return f"{{ {name}: {text.shown(value, limit=24)}{more} }}"
