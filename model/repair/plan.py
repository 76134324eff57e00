"""The plan for findings, kept as a JSON file that people read, review and edit.

An item holds one finding, its repair, and the SHA-256 of every stored document that the repair depends on, so that
documents changed since the scan are detected. Items are in order of execution, so documents with two kinds of damage
are repaired in one run. Values are canonical Extended JSON; the source is written without its password.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from model import text
from model.errors import NotFound, Refused, Unreadable
from model.foundation.findings import Evidence, Finding, Unchecked
from model.foundation.input_files import LARGEST, whole_text
from model.repair.damage_classes import CLASSES, asking, no_repair, repair_of, waits
from model.repair.items import Do, Item, Seen, digest
from model.userdata import folders
from model.values import canonical
from model.values.canonical import Value

FORM = 1
WHEN_ANSWERED = "when answered"

_DO: dict[Do, object] = {"yes": True, "no": False, "when answered": WHEN_ANSWERED}


class Plan(Struct, frozen=True):
    """The items for some findings in one source."""

    id: str
    source: str  # without password
    made: dt.datetime
    items: tuple[Item, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    layouts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the profile table of each collection
    stated: tuple[str, ...] = ()  # those among them whose layout a person stated in a profile
    doubts: Mapping[str, str] = field(default_factory=dict)  # collections whose layout is in doubt, and why
    collections: Mapping[str, str] = field(default_factory=dict)  # the server's ids of the collections it depends on
    note: str = ""  # the file name, for messages

    def item(self, no: int) -> Item:
        """One item by its number; raises ``NotFound``."""
        if 1 <= no <= len(self.items):
            return self.items[no - 1]
        raise NotFound(f"The plan has no item {no}; it has {len(self.items)}.")

    def with_ticked(self, no: int, ticked: bool) -> Plan:
        """The plan with an item ticked or not; an item with a question is done once it is answered."""
        item = self.item(no)
        if ticked and item.repair is None:
            raise Refused(f"Item {no} has no repair. {item.advice}".strip())
        yes: Do = "when answered" if item.question else "yes"
        return self._with(replace(item, do=yes if ticked else "no"))

    def with_answer(self, no: int, answer: str | None) -> Plan:
        """The plan with a person's answer to an item's question; None removes the answer.

        Raises ``Refused`` if the answer does not fit the question.
        """
        item = self.item(no)
        if not item.question:
            raise Refused(f"Item {no} asks nothing.")
        return self._with(replace(item, do="when answered", answer=_checked(answer, item, f"Item {no}")))

    def _with(self, item: Item) -> Plan:
        return replace(self, items=(*self.items[: item.no - 1], item, *self.items[item.no :]))

    @property
    def counts(self) -> dict[str, int]:
        """The number of items of each class, in the order of CLASSES."""
        counted = Counter(item.finding.code for item in self.items)
        return {code: counted[code] for code in CLASSES if counted[code]}

    def save(self, path: str | Path) -> None:
        """Write the file, completely or not at all; raises ``Refused`` if that fails."""
        folders.write(Path(path), written(self))

    @staticmethod
    def load(path: str | Path) -> Plan:
        """Read a plan; raises ``NotFound``, or ``Unreadable`` with the item and the key that is wrong."""
        try:
            said = whole_text(path, LARGEST)
        except FileNotFoundError:
            raise NotFound(f"There is no plan {path}; `palimpsest scan SOURCE --plan {path}` writes one.") from None
        except OSError as error:
            raise Refused(f"The plan {path} cannot be read ({error.strerror or error}).") from None
        except UnicodeDecodeError:
            raise Unreadable(f"The plan {path} is not UTF-8 text; save it as UTF-8.") from None
        return read(said, str(path))


# --- making one


def planned(
    source: str,
    findings: Iterable[Finding],
    unchecked: Sequence[Unchecked] = (),
    now: dt.datetime | None = None,
    layouts: Callable[[str], Mapping[str, Any]] = lambda ns: {},
    stated: Callable[[str], bool] = lambda ns: False,
) -> Plan:
    """The plan for some findings: safe repairs are ticked, others ask a person, other findings have advice.

    If a collection's layout is in doubt, nothing in it has a repair.
    """
    all_found = list(findings)
    doubts = {each.ns: each.doubt for each in all_found if each.doubt}
    # Sorted before they are numbered, because items are done in the order of their numbers.
    found = sorted((_doubted(each, doubts.get(each.ns, "")) for each in all_found), key=_order)
    made = (now or dt.datetime.now(dt.UTC)).astimezone(dt.UTC)
    # Whole milliseconds, as the file holds: a plan that was saved and read again is equal to the first.
    made = made.replace(microsecond=made.microsecond // 1000 * 1000)
    items = tuple(_item(no, finding) for no, finding in enumerate(found, 1))
    places = dict.fromkeys(item.finding.ns for item in items if item.repair is not None)
    kept = {ns: table for ns in places if (table := layouts(ns))}
    words = tuple(ns for ns in places if stated(ns))
    return Plan(f"plan-{uuid.uuid4().hex[:12]}", source, made, items, tuple(unchecked), kept, words, doubts)


def _doubted(finding: Finding, doubt: str) -> Finding:
    return replace(finding, repair=None, doubt=doubt) if doubt else finding


def _order(finding: Finding) -> tuple[int, int]:
    repair = repair_of(finding)
    classes = list(CLASSES)
    known = classes.index(finding.code) if finding.code in CLASSES else len(classes)
    return (repair.rank if repair is not None else 1000), known


def _item(no: int, finding: Finding) -> Item:
    seen = tuple(dict.fromkeys(map(_seen, finding.evidence)))
    repair = finding.repair if repair_of(finding) is not None and not waits(finding) else None
    if repair is None:
        return Item(no, finding, None, "no", seen, advice=no_repair(finding))
    ask = asking(finding)
    if ask is None:
        return Item(no, finding, repair, "yes", seen)
    return Item(no, finding, repair, "when answered", seen, ask.question, ask.choices, ask.wants)


def _seen(each: Evidence) -> Seen:
    try:
        id = canonical.get(each.raw, ("_id",))
    except Unreadable:
        id = None
    return Seen(each.ns, id or Value.of(None), each.sha256 or digest(each.raw))


def slim(finding: Finding) -> Finding:
    """A finding with only the evidence that a plan needs, because many are kept until the scan ends."""
    evidence = []
    for each in finding.evidence:
        seen = _seen(each)
        # The digest of the whole document, not of what is left of it: by this the repair recognises a changed one.
        evidence.append(replace(each, raw=canonical.document([("_id", seen.id)]), sha256=seen.sha256))
    return replace(finding, evidence=tuple(evidence))


# --- the file


def written(plan: Plan) -> str:
    """The plan as the text of its file: indented JSON with a final newline."""
    data = {
        "palimpsest": "repair plan",
        "form": FORM,
        "plan": plan.id,
        "source": plan.source,
        "made": plan.made.isoformat(timespec="milliseconds"),
        "summary": {code: f"{count:,} × {CLASSES[code].title}" for code, count in plan.counts.items()},
        "layouts": {ns: dict(of) for ns, of in plan.layouts.items()},
        "stated": list(plan.stated),
        "in doubt": dict(plan.doubts),
        "collections": dict(plan.collections),
        "not checked": [_unchecked_to(each) for each in plan.unchecked],
        "items": [_item_to(item) for item in plan.items],
    }
    said = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    try:
        said.encode()
    except UnicodeEncodeError:  # lone surrogates in a damaged string
        said = json.dumps(data, indent=2) + "\n"
    return said


def _unchecked_to(each: Unchecked) -> dict[str, object]:
    return {"ns": each.ns, "why": each.why} | ({} if each.id is None else {"id": text.json_object(each.id)})


def _item_to(item: Item) -> dict[str, object]:
    finding = item.finding
    data: dict[str, object] = {
        "item": item.no,
        "class": finding.code,
        "ns": finding.ns,
        **({} if finding.id is None else {"id": text.json_object(finding.id)}),
        "versions": [text.json_object(v) for v in finding.versions],
        "detail": finding.detail,
        "repair": item.repair,
    }
    if item.repair is not None:
        data["do"] = _DO[item.do]
    if item.question:
        data["question"] = item.question
        data["choices"] = {choice.name: choice.label for choice in item.choices}
        if item.wants:
            data["or"] = f"a {item.wants}, as Extended JSON"
        data["answer"] = item.answer
    if item.advice:
        data["advice"] = item.advice
    if finding.at is not None:
        data["at"] = finding.at.isoformat()
    if finding.young:
        data["young"] = True
    data["rests on"] = [{"ns": s.ns, "id": text.json_object(s.id), "sha256": s.sha256} for s in item.seen]
    return data


def read(said: str, name: str) -> Plan:
    """The plan in a file's text; messages call it ``name``."""
    try:
        data = json.loads(said)
    except (ValueError, RecursionError) as error:  # a number with thousands of digits raises ValueError
        where = f" in line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"The plan {name} is not JSON{where}.") from None
    if not isinstance(data, dict) or data.get("palimpsest") != "repair plan":
        raise Unreadable(f'{name} is not a repair plan: it does not begin with "palimpsest": "repair plan".')
    if data.get("form") != FORM:
        raise Unreadable(f"The plan {name} is of another form than {FORM}; scan again to get one of this program.")
    top = _Fields(data, f"The plan {name}")
    known = ("palimpsest", "form", "plan", "source", "made", "summary", "layouts", "not checked", "items")
    top.only(*known, "stated", "in doubt", "collections")  # plans of earlier versions lack these three
    unchecked = [
        _Fields(each, f"The plan {name}, not checked {at}") for at, each in enumerate(top.list("not checked"), 1)
    ]
    rows = [_Fields(each, f"The plan {name}, item {at}") for at, each in enumerate(top.list("items"), 1)]
    return Plan(
        top.text("plan"),
        top.text("source"),
        top.time("made"),
        tuple(_item_from(no, row) for no, row in enumerate(rows, 1)),
        tuple(Unchecked(row.text("ns"), row.text("why"), row.value("id")) for row in unchecked),
        top.layouts("layouts"),
        tuple(map(str, top.list("stated"))) if "stated" in data else (),
        top.texts("in doubt") if "in doubt" in data else {},
        top.texts("collections") if "collections" in data else {},
        name,
    )


def _item_from(no: int, row: _Fields) -> Item:
    row.only(
        *("item", "class", "ns", "id", "versions", "detail", "repair", "do", "question", "choices", "or", "answer"),
        *("advice", "at", "young", "rests on"),
    )
    if row.data.get("item") != no:
        raise Unreadable(f'{row.where}: "item" must be {no}, as items are done in the order of their numbers.')
    code, repair = row.text("class"), row.data.get("repair")
    if code not in CLASSES:
        raise Unreadable(f"{row.where}: there is no class {code!r}; the classes are {', '.join(CLASSES)}.")
    own = CLASSES[code].repair
    if repair is not None and (own is None or repair != own.name):
        others = f"is {own.name} or null" if own is not None else "must be null"
        raise Unreadable(f"{row.where}: the repair for {code} {others}, not {json.dumps(repair)}.")
    finding = Finding(
        code,
        row.text("ns"),
        row.value("id"),
        tuple(row.as_value(v, "versions") for v in row.list("versions")),
        row.text("detail"),
        repair,
        at=row.time("at") if "at" in row.data else None,
        young=row.data.get("young") is True,
    )
    inner = [_Fields(each, f"{row.where}, rests on {at}") for at, each in enumerate(row.list("rests on"), 1)]
    seen = tuple(Seen(each.text("ns"), each.value("id") or Value.of(None), each.text("sha256")) for each in inner)
    # Questions and choices are made anew, not taken from the file: somebody may have edited it.
    made = _item(no, finding)
    if made.repair is None:
        return replace(made, finding=finding, seen=seen, advice=str(row.data.get("advice", "")))
    do = row.data.get("do", True)
    if do is not True and do is not False and do != WHEN_ANSWERED:  # 0 and 1 equal True and False, but are neither
        raise Unreadable(f'{row.where}: "do" is true, false or "{WHEN_ANSWERED}", not {json.dumps(do)}.')
    said: Do = "no" if do is False else "when answered" if made.question else "yes"
    answer = row.data.get("answer")
    if answer is not None and not made.question:
        raise Unreadable(f'{row.where}: nothing is asked here, so there is no "answer".')
    return replace(made, finding=finding, do=said, seen=seen, answer=_checked(answer, made, row.where))


def _checked(answer: object, item: Item, where: str) -> str | None:
    """An answer in its normal form; raises ``Unreadable`` if it does not fit."""
    if answer is None:
        return None
    names = [choice.name for choice in item.choices]
    if answer in names:
        return str(answer)
    if item.wants:
        try:
            value = text.value_from_text(answer if isinstance(answer, str) else json.dumps(answer))
        except Unreadable:
            value = Value.of(None)
        whole = (canonical.INT32, canonical.INT64)
        if value.type in whole or (item.wants == "number" and _is_finite(value)):
            return text.value_text(value)
    ways = ", ".join(f'"{name}"' for name in names) + (f" or a {item.wants}" if item.wants else "")
    raise Unreadable(f"{where}: {json.dumps(answer)} is not an answer to its question; the answers are {ways}.")


def _is_finite(value: Value) -> bool:
    """Whether a fraction is finite: a counter never recovers from NaN or infinity."""
    return value.type in (canonical.DOUBLE, canonical.DECIMAL128) and text.shown(value).lstrip("-")[:1].isdigit()


class _Fields(Struct, frozen=True):
    """A JSON object of the file, with its name in messages."""

    data: Any
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.data, dict):
            raise Unreadable(f"{self.where} must be an object in braces.")

    def only(self, *names: str) -> None:
        """Raise for an unknown key, so that a typing error does not go unnoticed."""
        unknown = [name for name in self.data if name not in names]
        if unknown:
            raise Unreadable(f"{self.where}: there is no key {unknown[0]!r} here; take it out or mend its name.")

    def text(self, name: str) -> str:
        """A key that must be text."""
        found = self.data.get(name)
        if not isinstance(found, str):
            raise Unreadable(f"{self.where}: {name!r} must be text in quotes.")
        return found

    def list(self, name: str) -> list[Any]:
        """A key that must be a list."""
        found = self.data.get(name)
        if not isinstance(found, list):
            raise Unreadable(f"{self.where}: {name!r} must be a list in brackets.")
        return found

    def layouts(self, name: str) -> dict[str, dict[str, Any]]:
        """A key that holds a table for each collection, as a profile has them."""
        found = self.data.get(name)
        if not isinstance(found, dict) or not all(isinstance(row, dict) for row in found.values()):
            raise Unreadable(f"{self.where}: {name!r} must hold the layout and the fields of each collection.")
        return found

    def texts(self, name: str) -> dict[str, str]:
        """A key that holds a text for each collection."""
        found = self.data.get(name)
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise Unreadable(f"{self.where}: {name!r} must hold a text in quotes for each collection.")
        return found

    def time(self, name: str) -> dt.datetime:
        """A key that must be a time with its zone."""
        try:
            found = dt.datetime.fromisoformat(self.text(name))
        except ValueError:
            found = dt.datetime.min
        if found.tzinfo is None:
            raise Unreadable(f"{self.where}: {name!r} must be a time such as 2026-05-01T12:00:00+00:00.")
        return found

    def value(self, name: str) -> Value | None:
        """A key with a BSON value, which may be null; None if the key is missing."""
        return self.as_value(self.data[name], name) if name in self.data else None

    def as_value(self, found: object, name: str) -> Value:
        """A BSON value; raises with the name of its key."""
        try:
            return text.value_from_text(json.dumps(found))
        except (Unreadable, RecursionError) as error:
            raise Unreadable(f"{self.where}: {name!r} is not Extended JSON: {error}") from None
