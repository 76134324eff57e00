"""How a content is hashed: algorithm, bytes, order of fields, and the stored form of the hash."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Container, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from model.errors import Refused
from model.values import canonical as c
from model.values.canonical import Value
from model.values.json_form import Dialect, JsonForm

Algorithm = Literal["sha1", "sha256", "md5", "sha512"]
Over = Literal["bson", "json"]
Keys = Literal["stored", "sorted", "sorted-top"]
Separators = Literal["spaced", "compact"]
Encoding = Literal["hex", "hex-upper", "base64", "binary"]

SIZES: dict[Algorithm, int] = {"sha1": 20, "sha256": 32, "md5": 16, "sha512": 64}
_HASHES = {name: getattr(hashlib, name) for name in SIZES}
"""Kept because looking up an algorithm by name takes longer than hashing a document."""
_NAMES = {"sha1": "SHA-1", "sha256": "SHA-256", "md5": "MD5", "sha512": "SHA-512"}
_ORDERS = {"stored": "", "sorted": ", names sorted", "sorted-top": ", names at the top sorted"}
_ENCODINGS = {
    "hex": "", "hex-upper": ", stored in capital hex", "base64": ", stored in Base64", "binary": ", stored as Binary"
}  # fmt: skip
_DIALECTS = {
    "python": "Python's, other values as str()",
    "iso": "Python's, dates by isoformat()",
    "extended": "PyMongo's json_util",
    "javascript": "JavaScript's",
}
_JSON_ONLY = ("separators", "ascii", "values")


class HashRecipe(Struct, frozen=True):
    """How a content is hashed. The default is the published pattern: SHA-1 of its BSON, in hex.

    ``keys``: field names as stored, sorted at every depth, or sorted at the top only. ``id``: whether ``_id``
    precedes the content. The last three concern JSON: the spaces, whether non-ASCII characters are escaped, and which
    library's words stand for values that JSON lacks.
    """

    algorithm: Algorithm = "sha1"
    over: Over = "bson"
    keys: Keys = "stored"
    encoding: Encoding = "hex"
    id: bool = False
    separators: Separators = "spaced"
    ascii: bool = True
    values: Dialect = "python"

    # --- computing

    def value(self, content: bytes, id: Value | None = None, like: Value | None = None) -> Value:
        """The hash of a content in its stored form; ``id`` is the document's ``_id``, if known.

        A Binary gets the subtype of ``like``. Raises ``Refused`` if the recipe cannot represent the content.
        """
        made = _HASHES[self.algorithm](self.hashed(content, id), usedforsecurity=False)
        return self.stored(made.digest(), like)

    def stored(self, digest: bytes, like: Value | None = None) -> Value:
        """A digest in its stored form."""
        match self.encoding:
            case "binary":
                subtype = like.data[4:5] if like is not None and like.type == c.BINARY else b"\0"
                return Value(c.BINARY, len(digest).to_bytes(4, "little") + subtype + digest)
            case "base64":
                return _text(b64encode(digest))
            case "hex-upper":
                return _text(digest.hex().upper().encode())
        return _text(digest.hex().encode())

    def hashed(self, content: bytes, id: Value | None = None) -> bytes:
        """The bytes that are hashed; raises ``Refused`` if the recipe cannot represent the content."""
        if self.id:
            if id is None:
                raise Refused("The hash covers _id, so it is known only once the document has one.")
            content = c.document([("_id", id), *c.fields(content)])
        if self.keys == "sorted-top":
            content = c.document(sorted(c.fields(content), key=lambda pair: pair[0]))
        if self.over == "json":
            form = JsonForm(self.values, self.keys == "sorted", self.separators == "spaced", self.ascii)
            return form.text(content)
        return _sorted(Value.document(content)).data if self.keys == "sorted" else content

    def could_be(self, stored: Value) -> bool:
        """Whether a stored value has the type and length of such a hash."""
        size = SIZES[self.algorithm]
        if self.encoding == "binary":
            return stored.type == c.BINARY and len(stored.data) == 5 + size
        if stored.type != c.STRING:
            return False
        text = stored.data[4:-1]
        if self.encoding == "base64":
            padding = b"=" * (-size % 3)
            only = not text.rstrip(b"=").translate(None, _BASE64)
            return len(text) == 4 * -(-size // 3) and text.endswith(padding) and only
        digits = _HEX if self.encoding == "hex" else _HEX_UPPER
        return len(text) == 2 * size and not text.translate(None, digits)

    @property
    def is_published(self) -> bool:
        """Whether it hashes the bytes of the published pattern, with any algorithm and encoding."""
        return not self.id and self.over == "bson" and self.keys == "stored"

    # --- words

    @property
    def said(self) -> str:
        """The recipe in a few words: ``SHA-256 of the content as JSON, names sorted``."""
        what = "_id and the content" if self.id else "the content"
        made = f"{_NAMES[self.algorithm]} of {what} as BSON"
        if self.over == "json":
            made = f"{_NAMES[self.algorithm]} of {what} as JSON ({_DIALECTS[self.values]}{self._spelling})"
        return f"{made}{_ORDERS[self.keys]}{_ENCODINGS[self.encoding]}"

    @property
    def _spelling(self) -> str:
        if self.values == "javascript":
            return ""
        return ("" if self.separators == "spaced" else ", without spaces") + ("" if self.ascii else ", in UTF-8")

    # --- as a team states it

    @property
    def table(self) -> dict[str, Any]:
        """The recipe as a table of a profile, which :meth:`read` reads back."""
        always = ("algorithm", "over", "keys", "encoding")
        default = HashRecipe(values=self.values, **_SPELLINGS.get(self.values, {}))
        found: dict[str, Any] = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            stands = value != getattr(default, name) or (name == "values" and self.over == "json")
            if name in always or stands:
                found[name] = value
        return found

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> HashRecipe:
        """The recipe in a table of a profile; raises ``ValueError`` that says what is wrong with the table."""
        for key, value in table.items():
            if key not in _CHOICES:
                raise ValueError(f"has no key {key!r}; its keys are {', '.join(_CHOICES)}")
            allowed = _CHOICES[key]
            if type(value) is not type(allowed[0]) or value not in allowed:
                raise ValueError(f"{key} must be {_alternatives(allowed)}, not {_shown(value)}")
        made: dict[str, Any] = dict(table)
        if made.get("over") != "json" and (odd := [key for key in _JSON_ONLY if key in made]):
            raise ValueError(f'{odd[0]} is about JSON; say over = "json" with it, or leave it out')
        for key, only in _SPELLINGS.get(made.get("values", ""), {}).items():
            if made.setdefault(key, only) != only:
                raise ValueError(f"{key} must be {_shown(only)} where values are JavaScript's, which knows no other")
        return cls(**made)


_SPELLINGS: dict[str, dict[str, Any]] = {"javascript": {"separators": "compact", "ascii": False}}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "algorithm": get_args(Algorithm),
    "over": get_args(Over),
    "keys": get_args(Keys),
    "encoding": get_args(Encoding),
    "id": (False, True),
    "separators": get_args(Separators),
    "ascii": (True, False),
    "values": get_args(Dialect),
}
_HEX, _HEX_UPPER = b"0123456789abcdef", b"0123456789ABCDEF"
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _text(ascii: bytes) -> Value:
    return Value(c.STRING, (len(ascii) + 1).to_bytes(4, "little") + ascii + b"\0")


def _alternatives(allowed: tuple[Any, ...]) -> str:
    said = [_shown(value) for value in allowed]
    return " or ".join(filter(None, (", ".join(said[:-1]), said[-1])))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)


def _sorted(value: Value) -> Value:
    if value.type == c.OBJECT:
        pairs = sorted(c.fields(value.data), key=lambda pair: pair[0])
        return Value(c.OBJECT, c.document((name, _sorted(inner)) for name, inner in pairs))
    if value.type == c.ARRAY:
        return c.array(map(_sorted, c.items(value)))
    return value


# --- recipes that are tried if none is stated


def _ways() -> Iterator[HashRecipe]:
    """Every recipe for the bytes of a content, the most common first."""
    yield HashRecipe()
    keys: tuple[Keys, ...] = ("sorted", "stored")
    for values, order, separators, ascii in product(get_args(Dialect), keys, get_args(Separators), (True, False)):
        made = HashRecipe(over="json", keys=order, separators=separators, ascii=ascii, values=values)
        if values != "javascript" or (separators, ascii) == ("compact", False):
            yield made
    yield HashRecipe(keys="sorted")
    yield HashRecipe(keys="sorted-top")


WAYS = (*_ways(), *(replace(way, id=True) for way in _ways()))


@cache
def _shapes() -> Mapping[tuple[int, int], tuple[HashRecipe, ...]]:
    """The recipes of the published pattern by the type and length of the values that they make."""
    found: dict[tuple[int, int], list[HashRecipe]] = {}
    for way in get_args(Encoding):
        for algorithm, size in SIZES.items():
            made = HashRecipe(algorithm, encoding=way)
            stored = made.stored(bytes(size))
            found.setdefault((stored.type, len(stored.data)), []).append(made)
    return {kind: tuple(each) for kind, each in found.items()}


def hashed_kinds() -> Container[tuple[int, int]]:
    """The types and lengths of all values of which :func:`shape_of` may tell a recipe."""
    return _shapes()


def shape_of(stored: Value | None) -> HashRecipe | None:
    """The published pattern's recipe with the algorithm and encoding of a stored value's type and length."""
    if stored is None or (likely := _shapes().get((stored.type, len(stored.data)))) is None:
        return None
    return next((each for each in likely if each.could_be(stored)), None)


def recipes_like(stored: Value) -> tuple[HashRecipe, ...]:
    """Every known recipe whose hashes have the type and length of a stored value."""
    shape = shape_of(stored)
    return () if shape is None else _ways_to(shape.algorithm, shape.encoding)


@cache
def _ways_to(algorithm: Algorithm, encoding: Encoding) -> tuple[HashRecipe, ...]:
    return tuple(replace(way, algorithm=algorithm, encoding=encoding) for way in WAYS)
