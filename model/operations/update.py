"""One change for many documents: an update as MongoDB has it, judged and applied to a content.

What is taken is computed here and sent as any other edit, so that each layout writes it in its own way. A rename onto
a field that exists is refused; MongoDB would replace that field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from model import text
from model.errors import Refused
from model.localserver.updates import compile_update
from model.mql.command_error import CommandError
from model.storage.update_operators import UNSET
from model.text.paths import path_text
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.leaves import addressable
from model.writing.edit import check_paths

TAKEN = (
    "$set", "$unset", "$rename", "$inc", "$mul", "$min", "$max", "$push", "$addToSet", "$pull", "$pullAll", "$pop",
    "$bit",
)  # fmt: skip
COUNTING = ("$inc", "$mul", "$push", "$pop", "$bit")
"""Operators that change more if they are applied twice."""
_WHY_NOT = {
    "$setOnInsert": "nothing is inserted here",
    "$currentDate": "each document would get another time; set one time for all with $set",
}


class Update(Struct, frozen=True):
    """A change of each document; made by :func:`read` or :func:`stated`."""

    raw: bytes  # in MongoDB's notation: operators with paths
    paths: tuple[Path, ...]  # all that it names
    renames: tuple[tuple[Path, Path], ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it changes more if it is applied twice."""
        return any(name in COUNTING for name, _ in c.fields(self.raw))

    def check(self, locked: Sequence[str]) -> None:
        """Raise ``Refused`` if it names a field of the layout, or one place twice."""
        check_paths(self.paths, locked)

    def of(self, content: bytes) -> bytes:
        """The content after the change; raises ``Refused``."""
        for source, target in self.renames:
            if (array := _array_in(content, source) or _array_in(content, target)) is not None:
                raise Refused(f"{path_text(array)} is a list, and a rename reaches no field in the elements of one.")
            if c.get(content, source) is not None and c.get(content, target) is not None:
                raise Refused(f"{path_text(target)} exists already, so {path_text(source)} cannot take its name.")
        return _run(lambda: compile_update(c.OBJECT, self.raw)(content, False, None))


def stated(set: Mapping[Path, Value], unset: Iterable[Path], rename: Iterable[tuple[Path, Path]]) -> Update:
    """The change that sets, removes and renames fields; raises ``Refused``."""
    parts = {
        "$set": [(_dotted(path), value) for path, value in set.items()],
        "$unset": [(_dotted(path), UNSET) for path in unset],
        "$rename": [(_dotted(source), Value.of(_dotted(target))) for source, target in rename],
    }
    return read(c.document((name, Value.document(c.document(fields))) for name, fields in parts.items() if fields))


def written(said: str) -> Update:
    """The change in a pasted update, in the notation of shells or as Extended JSON; raises ``Refused``."""
    found = text.any_notation(said)
    if found.type == c.ARRAY:
        raise Refused("An update that is a pipeline is not taken here; say the fields with $set, $unset and $rename.")
    if found.type != c.OBJECT:
        raise Refused('An update is a document of operators, as in {"$set": {"status": "closed"}}.')
    return read(found.data)


def typed(said: str) -> Update:
    """The change that a person typed: an update, or only the fields to set; raises ``Refused``."""
    raw = text.loose(said)
    names = [name for name, _ in c.fields(raw)]
    if names and not any(name.startswith("$") for name in names):
        raw = c.document([("$set", Value.document(raw))])
    return read(raw)


def read(raw: bytes) -> Update:
    """The change that an update makes; raises ``Refused`` with what is not taken."""
    operators = c.fields(raw)
    if not operators:
        raise Refused("Nothing to change: say --set PATH=EJSON, --unset PATH, --rename A=B or --update UPDATE.")
    paths: list[Path] = []
    renames: list[tuple[Path, Path]] = []
    for name, fields in operators:
        _check_operator(name, fields)
        for path, value in c.fields(fields.data):
            paths.append(_path(path))
            if name == "$rename":
                if value.type != c.STRING:
                    raise Refused(f"$rename names what {path} is called then, as in {{{path}: 'name'}}.")
                paths.append(_path(str(value.python())))
                renames.append((paths[-2], paths[-1]))
    check_paths(paths, ())
    _run(lambda: compile_update(c.OBJECT, raw))
    return Update(raw, tuple(paths), tuple(renames))


def _check_operator(name: str, fields: Value) -> None:
    if not name.startswith("$"):
        raise Refused(
            f"{name} is no operator, and a whole document for all others is not taken: write "
            f'{{"$set": {{"{name}": …}}}}.'
        )
    if name not in TAKEN:
        why = _WHY_NOT.get(name, f"taken are {', '.join(TAKEN)}")
        raise Refused(f"{name} is not taken here: {why}.")
    if fields.type != c.OBJECT or fields.data == c.EMPTY:
        raise Refused(f"{name} names the fields that it changes, as in {{{name}: {{field: …}}}}.")


def _path(written: str) -> Path:
    """The steps of a dotted path; raises ``Refused`` for what depends on a filter."""
    for step in written.split("."):
        if step.startswith("$") and step != "$[]":
            raise Refused(f"{written} names an element by a condition; name its position, or $[] for all elements.")
    return tuple(int(step) if step.isdigit() else step for step in written.split("."))


def _dotted(path: Path) -> str:
    """A path in MongoDB's notation; raises ``Refused`` if that cannot say it."""
    for step in path:
        if isinstance(step, str) and not addressable(step):
            raise Refused(f"{path_text(path)} has a name with a dot or a dollar, which only `palimpsest edit` changes.")
    return ".".join(map(str, path))


def _array_in(content: bytes, path: Path) -> Path | None:
    """The array through which a path leads, if any."""
    for end in range(1, len(path)):
        found = c.get(content, path[:end])
        if found is not None and found.type == c.ARRAY:
            return path[:end]
    return None


def _run(work: Callable[[], object]) -> bytes:
    """What the engine of updates makes; raises its error as ``Refused``."""
    try:
        made = work()
    except CommandError as error:
        raise Refused(f"{error.message.rstrip('.')}.") from None
    return made if isinstance(made, bytes) else b""
