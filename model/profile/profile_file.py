"""Puts one collection into a profile file: merges it with the file's text, shows the result, and writes just that.

Comments and order stay. A file that changed since it was shown is not overwritten. The library that keeps the
comments is imported only for merging, because that takes longer than many a command.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.input_files import LARGEST_PROFILE, whole_input
from model.foundation.toml_text import to_line
from model.foundation.whole_files import whole_file
from model.profile import Profile, keys, minimal, whole
from model.writers.row_keys import known_keys


class ProfileEdit(Struct, frozen=True):
    """The new file, and how it differs from the old one."""

    path: FilePath
    before: bytes | None
    """Its bytes as they were read; None if there is no such file."""
    after: bytes
    changed: tuple[tuple[str, str, str], ...] = ()
    """Key, old and new value as TOML, of what the file now states differently; a new value of "" removes the key."""
    kept: tuple[tuple[str, str], ...] = ()
    """Key and value as TOML of the table's further keys, which stay although this statement says otherwise."""

    def write(self) -> None:
        """Write the file; raises ``Refused`` if it has changed since, or cannot be written."""
        if _read(self.path) != self.before:
            raise Refused(f"{self.path} was changed meanwhile, so it was not written; save once more.")
        if self.after == self.before:
            return
        try:
            _put(self.path, self.after, new=self.before is None)
        except FileExistsError:
            raise Refused(f"{self.path} appeared meanwhile, so it was not overwritten; save once more.") from None
        except OSError as error:
            raise Refused(f"{self.path} cannot be written: {error.strerror or error}; choose another place.") from None


def stated_in(path: FilePath, profile: CollectionProfile, told: Iterable[str] = ()) -> ProfileEdit:
    """The file with this collection stated in it; ``told`` are keys to write even if they have default values.

    Raises ``Refused`` if the file exists and is not a profile.
    """
    path = FilePath(os.path.realpath(path))  # so that a link stays a link
    wanted = {"ns": profile.ns, **minimal(profile, told)}
    before = _read(path)
    if before is None:
        return ProfileEdit(path, None, _block(wanted).encode())
    there = Profile.load(path)
    text = before.decode()
    changed: tuple[tuple[str, str, str], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    if there.get(profile.ns) is None:
        after = _with_entry(text, wanted)
    else:
        after, changed, kept = _merged(text, wanted, whole(profile))
    if text.count("\r\n") == text.count("\n") > 0:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    _verify(after, wanted, there, path)
    return ProfileEdit(path, before, after.encode(), changed, kept)


def block(profile: CollectionProfile, told: Iterable[str] = ()) -> str:
    """The collection's text in a file of its own."""
    return _block({"ns": profile.ns, **minimal(profile, told)})


def preset_block(writer: str, ns: str) -> str:
    """What the preset of a known program states, as text in which a team can change single keys."""
    return _block({"ns": ns, "writer": writer, **known_keys(writer, ns)})


def _block(wanted: Mapping[str, Any]) -> str:
    return "[[collection]]\n" + "".join(f"{key} = {to_line(value)}\n" for key, value in wanted.items())


def _with_entry(text: str, wanted: Mapping[str, Any]) -> str:
    """The text with a further entry at its end, or at the end of an array of inline tables."""
    import tomlkit
    from tomlkit.items import AoT

    data: Any = tomlkit.parse(text)
    if not isinstance(data.get("collection", tomlkit.aot()), AoT):
        data["collection"].append(tomlkit.parse(f"x = {to_line(wanted)}")["x"])
        return tomlkit.dumps(data)
    return f"{text.rstrip()}\n\n{_block(wanted)}" if text.strip() else _block(wanted)


def _merged(
    text: str, wanted: Mapping[str, Any], whole: Mapping[str, Any]
) -> tuple[str, tuple[tuple[str, str, str], ...], tuple[tuple[str, str], ...]]:
    """The text with the entry changed, the changed keys, and further keys that say otherwise."""
    import tomlkit

    data: Any = tomlkit.parse(text)
    entry = next(each for each in data["collection"] if each["ns"] == wanted["ns"])
    usable = {key.name for key in keys(wanted["layout"])} | {"ns", "layout"}
    changed = []
    # Blank lines and comments at its end belong to the next entry: put new keys before them.
    body: list[Any] = entry.value.body
    tail: list[Any] = []
    while body and body[-1][0] is None:
        tail.insert(0, body.pop())
    for key, value in wanted.items():
        old = entry.unwrap().get(key)
        if old != value:
            if old is not None or key == "layout":
                changed.append((key, "" if old is None else to_line(old), to_line(value)))
            entry[key] = tomlkit.parse(f"x = {to_line(value)}\n")["x"]
    body.extend(tail)
    for key, old in entry.unwrap().items():
        if key not in usable:
            changed.append((key, to_line(old), ""))
            del entry[key]
    others = ((key, old) for key, old in entry.unwrap().items() if key not in wanted)
    kept = tuple((key, to_line(old)) for key, old in others if old != whole.get(key))
    return tomlkit.dumps(data), tuple(changed), kept


def _verify(after: str, wanted: Mapping[str, Any], before: Profile, path: FilePath) -> None:
    """Raise ``Refused`` if the new text does not state what was intended: TOML can be written in many ways."""
    with contextlib.suppress(tomllib.TOMLDecodeError, Refused):
        found = Profile.read(tomllib.loads(after), str(path))
        raw = next(each for each in tomllib.loads(after)["collection"] if each["ns"] == wanted["ns"])
        others = [each for each in before.collections if each.ns != wanted["ns"]]
        if all(raw.get(key) == value for key, value in wanted.items()) and others == [
            each for each in found.collections if each.ns != wanted["ns"]
        ]:
            return
    raise Refused(f"{path} states {wanted['ns']} in a form that cannot be merged; change it there by hand.")


def _read(path: FilePath) -> bytes | None:
    try:
        return whole_input(path, LARGEST_PROFILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror or error}; choose another file.") from None


def _put(path: FilePath, content: bytes, new: bool) -> None:
    """Write a file completely or not at all."""
    if new:
        with path.open("xb") as file:  # fails if somebody else creates the file meanwhile
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return
    with whole_file(path) as file:
        file.write(content)
