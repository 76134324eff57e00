"""A history as a git repository: a file for each document, a commit for each version, sorted by time.

A file holds a document with its id as canonical Extended JSON, one line per element, so that ``git diff`` reads well.
All else about a version is in the last paragraph of its commit's message, one value per line, as Extended JSON: git's
own times are whole seconds, and its author names cannot contain angle brackets. A deletion deletes the file.
"""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field

from model import text
from model.checks.external_sort import ExternalSort
from model.errors import Refused, Unreadable
from model.exchange import git_program
from model.exchange.export_total import ExportTotal
from model.exchange.file_names import file_name, folder_name
from model.exchange.git_program import BRANCH, GitProgram
from model.exchange.history_origin import HistoryOrigin, history_origin
from model.exchange.kept_version import KeptVersion, as_name, kept_version, not_importable
from model.exchange.known_versions import KnownVersions, known_versions
from model.foundation.records import Checkpoint
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

_MARK = "Palimpsest-Version"  # the first trailer in each message's last paragraph
_TRAILERS = {
    "id": "Document",
    "v": "Version",
    "at": "Time",
    "author": "Author",
    "reason": "Reason",
    "hash": "Hash",
    "deleted": "Deleted",
    "gap": "Gap",
    "unproven": "Unproven",
    "sha256": "Version-SHA-256",
}
_EMPTY = {"gap": '""', "unproven": '""', "deleted": "false"}  # values of missing trailers that are not null
_HASH, _ORIGIN, _TOTAL = "Content-SHA-1", "Collection", "Total"  # the total ends each export
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NOBODY = "unknown"
_NEVER = 2**62  # a second after all times
TOGETHER = 10_000  # commits that are sorted in memory
_LAST = 2**32  # higher than the place of any version

Lines: TypeAlias = dict[str, str]


def _encoded(said: str) -> bytes:
    """Text in UTF-8, with half characters as JSON escapes."""
    return said.encode("utf-8", "backslashreplace")


# --- out


class GitExport(Struct):
    """An export while it is written; :meth:`add` takes the versions of one document after another, newest first."""

    origin: HistoryOrigin
    step: Checkpoint
    known: KnownVersions
    coming: ExternalSort  # the data of the commits, sorted on disk
    pipe: subprocess.Popen[bytes]
    last: int | None  # the time of the last commit; None if there is none
    total: ExportTotal  # of all versions in the repository
    written: int = 0
    other: list[str] = field(default_factory=list)  # versions that differ in the repository
    _id: Value | None = None
    _document: int = 0
    _place: int = 0
    _top: int = 0  # the second by which the newest version is sorted
    _before: int | None = None  # the second by which the version after this one is sorted

    def add(self, kept: KeptVersion) -> bool:
        """Take one version; False if the repository already has it."""
        if self._id != kept.id:
            self._id, self._document, self._place, self._before = kept.id, self._document + 1, _LAST, None
        own, after = _second(kept.at), self._before
        backwards = own is not None and after is not None and after < own
        # Never after the version that follows it: a clock that ran backwards must not turn a history around in git.
        order = min(each for each in (own, after, _NEVER) if each is not None)
        if self._before is None:
            self._top = order
        if kept.v is None:  # a deletion without a date comes last
            order, place = self._top, _LAST
        else:
            self._place -= 1
            self._before, place = order, self._place
        lines = _trailers(kept)
        stands = self.known.stands(*_names(lines))
        # Exported before: git cannot change a commit, so a difference is only told.
        if stands is not None:
            if not stands:
                self.other.append(f"{version_name(kept.v)} of {id_name(kept.id)}")
            return False
        mark = 0
        if kept.content is not None:
            mark = self.written + 1
            self._put(b"blob\nmark :%d\n" % mark)
            self._data(_file(kept))
        self.written += 1
        self.total.add(kept.proof)
        clock = "The version after it has an earlier time." if backwards else ""
        shown = own if own is not None else order if order < _NEVER else None
        message = _message(kept, lines, clock)
        who = _ident(kept)
        # Big-endian, so that the bytes sort as the numbers do.
        key = order.to_bytes(8) + self._document.to_bytes(8) + place.to_bytes(8)
        self.coming.add(key, (mark, _path(kept.id), message, who, shown))
        return True

    def commit(self) -> None:
        """Write a commit for each version, in the order of their times."""
        done, last = 0, self.last or 0
        for _, rows in self.coming.groups():
            for mark, path, message, who, shown in rows:
                self.step(done, self.written)
                last = shown if shown is not None else last  # an unknown time becomes that of the commit before
                self._put(b"commit %s\n" % BRANCH.encode())
                # git knows no times before 1970.
                when = b" %d +0000\n" % max(0, last)
                self._put(b"author " + who + when + b"committer " + who + when)
                if done == 0:
                    message += _encoded(f"{_ORIGIN}: {text.to_text(self.origin.document)}\n")
                if done == self.written - 1:
                    message += _encoded(f"{_TOTAL}: {self.total.said}\n")
                self._data(message)
                # `^0` names the commit behind the branch; the branch itself may not be its own parent.
                if done == 0 and self.last is not None:
                    self._put(b"from %s^0\n" % BRANCH.encode())
                self._put(b"M 100644 :%d %s\n" % (mark, path) if mark else b"D %s\n" % path)
                done += 1
        # With `--done` git takes an input that ends without this for one that was cut off, and writes nothing.
        self._put(b"done\n")

    def _put(self, data: bytes) -> None:
        assert self.pipe.stdin is not None
        self.pipe.stdin.write(data)

    def _data(self, data: bytes) -> None:
        self._put(b"data %d\n" % len(data))
        self._put(data)
        self._put(b"\n")


@contextmanager
def git_export(folder: Path, origin: HistoryOrigin, step: Checkpoint) -> Iterator[GitExport]:
    """Export into a new repository, or one with an earlier export of this collection.

    If the work inside raises an error, nothing is committed. Raises ``Refused`` for any other folder.
    """
    git_program.program()
    found = git_program.repository(folder)
    if found is not None:
        with _export(found, origin, step) as made:
            yield made
        return
    was_there = folder.exists()
    try:
        if was_there and (not folder.is_dir() or any(folder.iterdir())):
            raise Refused(f"{folder} is not empty, and no export wrote it; choose an empty folder.")
    except OSError as error:
        raise Refused(f"{folder} cannot be read ({error.strerror}); choose another place.") from None
    git = git_program.begun(folder)
    try:
        with _export(git, origin, step) as made:
            yield made
    except BaseException:
        shutil.rmtree(folder if not was_there else git.inner, ignore_errors=True)  # everything in it is ours
        raise


@contextmanager
def _export(git: GitProgram, origin: HistoryOrigin, step: Checkpoint) -> Iterator[GitExport]:
    folder = git.folder
    if git.branch is None:
        raise Refused(f"{folder} has no branch checked out; check one out first.")
    last = git.output("rev-list", "--max-count=1", "--format=%ct", "HEAD", "--") if git.head is not None else None
    there = GitHistory.opened(folder) if last is not None else None
    if there is not None and there.origin.ns != origin.ns:
        raise Refused(f"{folder} holds the history of {there.origin.ns}; export {origin.ns} into another folder.")
    if not git.bare and git.output("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all"):
        raise Refused(f"{folder} has files that no export wrote; move them elsewhere, or choose an empty folder.")
    total = ExportTotal()
    with known_versions() as known, ExternalSort(TOGETHER) as coming:
        for done, lines in enumerate(there.trailers() if there is not None else (), 1):
            step(done, None)
            known.note(*_names(lines))
            total.add(_proof(lines, folder))
        with git.running(("fast-import", "--quiet", "--done", "--date-format=raw")) as pipe:
            second = int(last.split()[-1]) if last is not None else None
            made = GitExport(origin, step, known, coming, pipe, second, total)
            yield made
            made.commit()
        if made.written and not git.bare:
            git.output("reset", "--quiet", "--hard")


def _names(lines: Lines) -> tuple[bytes, bytes]:
    """A version's identity, and all that is known of it, as bytes to compare."""
    named = [lines.get(_TRAILERS[name], "") for name in ("id", "v")]
    if _TRAILERS["v"] not in lines:
        named.append(lines.get(_TRAILERS["gap"], ""))  # the version that was deleted
    whole = [*named, *(lines.get(_TRAILERS[name], "") for name in ("at", "author", "reason", "hash", "deleted"))]
    return _encoded("\n".join(named)), _encoded("\n".join([*whole, lines.get(_HASH, "")]))


def _trailers(kept: KeptVersion) -> Lines:
    """Everything about a version except its content, by trailer; empty values are left out."""
    found = dict(c.fields(kept.document))
    lines = {
        label: text.value_text(found[name])
        for name, label in _TRAILERS.items()
        if name == "id" or text.value_text(found[name]) != _EMPTY.get(name, "null")
    }
    if kept.content is not None:
        lines[_HASH] = c.hash_of(kept.content)
    return lines


def _message(kept: KeptVersion, lines: Lines, clock: str) -> bytes:
    """A commit's message: document, version and reason, then remarks, then the trailers."""
    reason = as_name(kept.reason) or ""
    what = version_name(kept.v) if kept.v is not None else ""
    what = f"{what} deleted".strip() if kept.content is None else what
    head, *more = reason.splitlines() or [""]
    subject = f"{id_name(kept.id)}: {what}{f', {head.strip()}' if head.strip() else ''}"
    unproven = f"It is not proven: {kept.unproven}." if kept.unproven else ""
    untimed = "Its time is not known." if kept.at is None else ""
    said = [each for each in (kept.gap, unproven, untimed, clock) if each]
    parts = [_one_line(subject), "\n".join(_one_line(line, strip=False) for line in more).strip(), "\n".join(said)]
    whole = "\n\n".join(part for part in parts if part)
    return _encoded(f"{whole}\n\n{_MARK}: 1\n" + "".join(f"{name}: {value}\n" for name, value in lines.items()))


def _one_line(said: str, strip: bool = True) -> str:
    shown = "".join(each if each.isprintable() else " " for each in said)
    return " ".join(shown.split()) if strip else shown.rstrip()


def _ident(kept: KeptVersion) -> bytes:
    """A version's author in git's form."""
    name = "".join(each if each.isprintable() and each not in "<>" else " " for each in as_name(kept.author) or "")
    # git strips these signs from names itself, and may find nothing left of one.
    name = " ".join(name.split()).strip(" .,:;\"'\\") or _NOBODY
    return _encoded(f"{name} <>")


def _second(at: dt.datetime | None) -> int | None:
    return None if at is None else max(0, int((at - _EPOCH).total_seconds()))


def _path(id: Value) -> bytes:
    return f"{folder_name(id)}/{file_name(id)}.json".encode()


def _file(kept: KeptVersion) -> bytes:
    """A version's content with its id, one line per element."""
    assert kept.content is not None
    whole = c.document([("_id", kept.id), *c.fields(kept.content)])
    return _encoded(text.to_text(whole, indent=2) + "\n")


# --- in


class GitHistory(Struct, frozen=True):
    """The versions in a repository that an export wrote."""

    git: GitProgram
    origin: HistoryOrigin

    @classmethod
    def opened(cls, folder: Path) -> GitHistory:
        """The history in a folder; raises ``Refused`` if there is none."""
        git_program.program()
        git = git_program.repository(folder)
        if git is None or git.head is None:
            raise Refused(f"{folder} holds no git repository with a commit; give the folder of an export.")
        try:
            [first] = [lines for _, lines in cls(git, HistoryOrigin(""))._commits("--max-parents=0")]
            origin = text.from_text(first[_ORIGIN])
        except (Unreadable, ValueError, KeyError):
            raise Refused(f"{folder} is a git repository that no export wrote; choose another folder.") from None
        return cls(git, history_origin(origin, folder))

    def trailers(self) -> Iterator[Lines]:
        """The trailers of each commit, oldest first."""
        return (lines for _, lines in self._commits())

    def refs(self) -> Iterator[tuple[KeptVersion, str]]:
        """Each version, and the name of its commit, in the order of the commits."""
        total, lines = ExportTotal(), Lines()
        with self.git.running(("cat-file", "--batch")) as process:
            for commit, lines in self._commits():
                kept = self._kept(process, commit, lines)
                total.add(kept.proof)
                yield kept, commit
        total.check(lines.get(_TOTAL), self.git.folder)

    def read(self, refs: Sequence[str]) -> Iterator[KeptVersion]:
        """The versions of these commits, with contents."""
        with self.git.running(("cat-file", "--batch")) as process:
            for commit in refs:
                message = _object(process, commit)
                yield self._kept(process, commit, _lines(message or b"", self.git.folder, commit))

    def _commits(self, *options: str) -> Iterator[tuple[str, Lines]]:
        """Each commit with its trailers; raises ``Unreadable`` if one is not from an export."""
        with (
            self.git.running(("rev-list", "--reverse", "--first-parent", *options, "HEAD")) as names,
            self.git.running(("cat-file", "--batch")) as process,
        ):
            assert names.stdout is not None
            for name in names.stdout:
                commit = name.decode().strip()
                yield commit, _lines(_object(process, commit) or b"", self.git.folder, commit)

    def _kept(self, process: subprocess.Popen[bytes], commit: str, lines: Lines) -> KeptVersion:
        where = f"Commit {commit[:12]} of {self.git.folder}"
        try:
            *pairs, proof = [
                (name, text.value_from_text(lines.get(label, _EMPTY.get(name, "null"))))
                for name, label in _TRAILERS.items()
            ]
            content = Value.of(None)
            if _TRAILERS["deleted"] not in lines:
                id, path = dict(pairs)["id"], _path(dict(pairs)["id"]).decode()
                file = _object(process, f"{commit}:{path}")
                if file is None:
                    raise Unreadable(f"it lacks the file {path}, which was moved or lost")
                content = _content(file, id)
                # Of the content alone: the file also holds the id, which the trailers name.
                if c.hash_of(content.data) != lines.get(_HASH):
                    raise Unreadable("its file has been changed since the export")
            return kept_version(c.document([*pairs, ("content", content), proof]))
        except (Unreadable, ValueError) as error:
            raise not_importable(where, error) from None


def _proof(lines: Lines, folder: Path) -> str:
    """The hash of a version in its trailers; raises ``Unreadable`` if there is none."""
    said = lines.get(_TRAILERS["sha256"], "").strip('"')
    if len(said) != 64 or set(said) - set("0123456789abcdef"):
        raise not_importable(folder, "it has commits without a hash that proves them")
    return said


def _content(file: bytes, id: Value) -> Value:
    """The content in a file that :func:`_file` wrote for a document."""
    fields = c.fields(text.from_text(file.decode("utf-8")))
    if fields[:1] != [("_id", id)]:
        raise Unreadable("its file holds another document")
    return Value.document(c.document(fields[1:]))


def _object(process: subprocess.Popen[bytes], name: str) -> bytes | None:
    """An object's bytes; None if the repository lacks it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{name}\n".encode())
    process.stdin.flush()
    head = process.stdout.readline().split()
    # A missing object is answered by its name and "missing", without a size.
    if len(head) != 3 or not head[2].isdigit():
        return None
    return process.stdout.read(int(head[2]) + 1)[:-1]


def _lines(commit: bytes, folder: Path, name: str) -> Lines:
    """The trailers of a commit; raises ``Unreadable`` if it is not from an export."""
    said = commit.decode("utf-8", "replace").partition("\n\n")[2].rstrip("\n")
    # Trailers stand in the last paragraph alone: a reason may hold lines that look like them.
    last = said.rpartition("\n\n")[2].split("\n")
    found = dict(line.partition(": ")[::2] for line in last)
    if _MARK not in found:
        raise Unreadable(
            f"Commit {name[:12]} of {folder} is not from an export; use a repository that only exports write."
        )
    return found
