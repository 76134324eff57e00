"""The kinds of BSON values: one row each, with everything that differs between kinds.

A column holds data, or names a function as ``room.file:function``. Rows therefore need no driver; a function's file
is imported when :func:`functions` asks for its column. Source of codes and lengths: https://bsonspec.org/spec.html;
of ranks: "Comparison/Sort Order" in the MongoDB manual.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeAlias

from msgspec import Struct

TYPE_CHECKING = False  # the standard library's module would slow every start, and only this is needed from it
if TYPE_CHECKING:
    from collections.abc import Callable

DOUBLE, STRING, OBJECT, ARRAY, BINARY, UNDEFINED, OBJECT_ID, BOOLEAN = 1, 2, 3, 4, 5, 6, 7, 8
DATE, NULL, REGEX, DB_POINTER, CODE, SYMBOL, SCOPED_CODE, INT32 = 9, 10, 11, 12, 13, 14, 15, 16
TIMESTAMP, INT64, DECIMAL128, MAX_KEY, MIN_KEY = 17, 18, 19, 127, 255

Column: TypeAlias = Literal["text", "relaxed", "shown", "editable", "typed", "python", "mongosh", "order", "cell"]


class Prefixed(Struct, frozen=True):
    """A payload that starts with a length in four bytes; its own length is that plus ``extra``."""

    extra: int
    least: int  # the smallest valid length


class Strings(Struct, frozen=True):
    """A payload of a fixed number of texts, each followed by NUL."""

    count: int


class Wrapper(Struct, frozen=True):
    """A name in Extended JSON that marks a kind, and the function that reads the object with that name."""

    name: str
    read: str


class Helper(Struct, frozen=True):
    """A shell's call for a value: its name, an example, and the function that takes its arguments."""

    name: str
    example: str
    read: str
    most: int = 1  # arguments


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of value."""

    name: str
    """The name shown to people."""
    code: int
    """The type byte before a field's name."""
    alias: str
    """Its name for the operator ``$type``."""
    length: int | Prefixed | Strings
    """The length of a payload: fixed, or derived from its bytes."""
    rank: int
    """Its place in a server's sort order; kinds of one rank compare by value."""
    order: str = ""
    """A function of code and payload that returns the sort key. "": all values are equal."""
    word: str = ""
    """The text of a kind's only value, for people and in a shell."""
    notation: str = ""
    """The Extended JSON of a kind's only value."""
    text: str = ""
    """A function of a payload and a flag for ASCII only: canonical Extended JSON, or None if none is exact."""
    relaxed: str = ""
    """A function of a payload: relaxed Extended JSON, if different."""
    wrappers: tuple[Wrapper, ...] = ()
    """The names in Extended JSON that mark it."""
    shown: str = ""
    """A function of a payload, a time zone and a number of characters: one line for people."""
    editable: str = ""
    """A function of a value and a time zone: the text to edit. "": Extended JSON."""
    typed: str = ""
    """A function of edited text, kind and time zone: the value, None if that is Extended JSON or a shell's call."""
    blank: str = ""
    """The text of the simplest value, for a new field."""
    hint: str = ""
    """What to do if a text is not a value of this kind."""
    helpers: tuple[Helper, ...] = ()
    """The calls in mongosh and other shells that write it."""
    offered: str = ""
    """The start of such a call, offered while a filter is typed."""
    driver: str = ""
    """The Python class that represents it in PyMongo; "" if PyMongo cannot send it."""
    python: str = ""
    """A function of a value and a flag for full length: its Python code for PyMongo. "": PyMongo cannot."""
    mongosh: str = ""
    """Its code for mongosh. "": as in Python."""
    cell: str = ""
    """A function of a value: its cell in a CSV column that names the kind. "": the text to edit."""
    is_number: bool = False
    is_text: bool = False
    is_deprecated: bool = False
    """Whether it is deprecated: stored values stay, but it is not offered for new fields."""


_CODE = Helper("Code", 'Code("text", {})', "text.shell_calls:code", 2)

KINDS: tuple[Kind, ...] = (
    Kind(
        name="String",
        code=STRING,
        alias="string",
        length=Prefixed(extra=4, least=1),
        rank=15,
        order="mql.order:text_key",
        text="text.scalars:string_text",
        shown="text.display:string_shown",
        blank='""',
        driver="str",
        python="server.code_preview:python_string",
        mongosh="server.code_preview:mongosh_string",
        cell="text.csv_form:string_cell",
        is_text=True,
    ),
    Kind(
        name="Int32",
        code=INT32,
        alias="int",
        length=4,
        rank=10,
        order="mql.order:number_key",
        text="text.scalars:int32_text",
        relaxed="text.scalars:integer_digits",
        wrappers=(Wrapper("$numberInt", "text.typed_values:int32"),),
        shown="text.display:integer_shown",
        editable="text.value_editing:integer_editable",
        typed="text.value_editing:integer_typed",
        blank="0",
        helpers=(
            Helper("NumberInt", "NumberInt(42)", "text.shell_calls:int32"),
            Helper("Int32", "Int32(42)", "text.shell_calls:int32"),
        ),
        driver="int",
        python="server.code_preview:python_int32",
        is_number=True,
    ),
    Kind(
        name="Int64",
        code=INT64,
        alias="long",
        length=8,
        rank=10,
        order="mql.order:number_key",
        text="text.scalars:int64_text",
        relaxed="text.scalars:integer_digits",
        wrappers=(Wrapper("$numberLong", "text.typed_values:int64"),),
        shown="text.display:integer_shown",
        editable="text.value_editing:integer_editable",
        typed="text.value_editing:integer_typed",
        blank="0",
        helpers=(
            Helper("NumberLong", 'NumberLong("42")', "text.shell_calls:int64"),
            Helper("Long", 'Long("42")', "text.shell_calls:int64"),
            Helper("Int64", 'Int64("42")', "text.shell_calls:int64"),
        ),
        offered='NumberLong("")',
        driver="Int64",
        python="server.code_preview:python_int64",
        mongosh="server.code_preview:mongosh_int64",
        is_number=True,
    ),
    Kind(
        name="Double",
        code=DOUBLE,
        alias="double",
        length=8,
        rank=10,
        order="mql.order:number_key",
        text="text.scalars:double_text",
        relaxed="text.scalars:double_digits",
        wrappers=(Wrapper("$numberDouble", "text.typed_values:double"),),
        shown="text.display:double_shown",
        editable="text.value_editing:double_editable",
        typed="text.value_editing:double_typed",
        blank="0.0",
        hint="write a number, Infinity or NaN",
        helpers=(Helper("Double", "Double(1.5)", "text.shell_calls:double"),),
        driver="float",
        python="server.code_preview:python_double",
        mongosh="server.code_preview:mongosh_double",
        is_number=True,
    ),
    Kind(
        name="Decimal128",
        code=DECIMAL128,
        alias="decimal",
        length=16,
        rank=10,
        order="mql.order:number_key",
        text="text.scalars:decimal_notation",
        wrappers=(Wrapper("$numberDecimal", "text.typed_values:decimal"),),
        shown="text.display:decimal_shown",
        editable="text.value_editing:decimal_editable",
        typed="text.value_editing:decimal_typed",
        blank="0",
        hint="write a number of at most 34 digits",
        helpers=(
            Helper("NumberDecimal", 'NumberDecimal("412.80")', "text.shell_calls:decimal"),
            Helper("Decimal128", 'Decimal128("412.80")', "text.shell_calls:decimal"),
        ),
        offered='NumberDecimal("")',
        driver="Decimal128",
        python="server.code_preview:python_decimal",
        is_number=True,
    ),
    Kind(
        name="Boolean",
        code=BOOLEAN,
        alias="bool",
        length=1,
        rank=40,
        order="mql.order:boolean_key",
        text="text.scalars:boolean_text",
        shown="text.display:boolean_shown",
        typed="text.value_editing:boolean_typed",
        blank="false",
        hint="write true or false",
        driver="bool",
        python="server.code_preview:python_boolean",
        mongosh="server.code_preview:mongosh_boolean",
    ),
    Kind(
        name="Date",
        code=DATE,
        alias="date",
        length=8,
        rank=45,
        order="mql.order:date_key",
        text="text.scalars:date_notation",
        relaxed="text.scalars:date_relaxed",
        wrappers=(Wrapper("$date", "text.typed_values:date"),),
        shown="text.display:date_shown",
        editable="text.value_editing:date_editable",
        typed="text.value_editing:date_typed",
        blank="1970-01-01",
        hint="write it as 2026-11-20 14:26, with seconds and zone if need be",
        helpers=(
            Helper("ISODate", 'ISODate("2026-11-20T14:26:00Z")', "text.shell_calls:date"),
            Helper("Date", 'Date("2026-11-20T14:26:00Z")', "text.shell_calls:date"),
        ),
        offered='ISODate("")',
        driver="datetime",
        python="server.code_preview:python_date",
        mongosh="server.code_preview:mongosh_date",
    ),
    Kind(
        name="ObjectId",
        code=OBJECT_ID,
        alias="objectId",
        length=12,
        rank=35,
        order="mql.order:bytes_key",
        text="text.scalars:object_id_text",
        wrappers=(Wrapper("$oid", "text.typed_values:object_id"),),
        shown="text.display:object_id_shown",
        editable="text.value_editing:object_id_editable",
        typed="text.value_editing:object_id_typed",
        blank='ObjectId("000000000000000000000000")',
        hint="write 24 hexadecimal digits",
        helpers=(Helper("ObjectId", 'ObjectId("64f0a1c29b1e8a0012c4d7aa")', "text.shell_calls:object_id"),),
        offered='ObjectId("")',
        driver="ObjectId",
        python="server.code_preview:python_object_id",
        cell="text.csv_form:hexadecimal_cell",
    ),
    Kind(
        name="Object",
        code=OBJECT,
        alias="object",
        length=Prefixed(extra=0, least=5),
        rank=20,
        order="mql.order:object_key",
        wrappers=(Wrapper("$fields", "text.typed_values:fields"),),
        editable="text.value_editing:container_editable",
        blank="{}",
        hint='write it as {"name": "value"}',
        helpers=(
            Helper(
                "DBRef", 'DBRef("collection", ObjectId("64f0a1c29b1e8a0012c4d7aa"))', "text.shell_calls:reference", 3
            ),
        ),
        driver="dict",
    ),
    Kind(
        name="Array",
        code=ARRAY,
        alias="array",
        length=Prefixed(extra=0, least=5),
        rank=25,
        order="mql.order:array_key",
        wrappers=(Wrapper("$elements", "text.typed_values:elements"),),
        editable="text.value_editing:container_editable",
        blank="[]",
        hint='write it as ["value", "value"]',
        driver="list",
    ),
    Kind(
        name="Null",
        code=NULL,
        alias="null",
        length=0,
        rank=5,
        word="null",
        notation="null",
        driver="NoneType",
        python="server.code_preview:python_null",
        mongosh="server.code_preview:mongosh_word",
    ),
    Kind(
        name="Binary",
        code=BINARY,
        alias="binData",
        length=Prefixed(extra=5, least=0),
        rank=30,
        order="mql.order:binary_key",
        text="text.scalars:binary_text",
        wrappers=(
            Wrapper("$binary", "text.typed_values:binary"),
            Wrapper("$uuid", "text.typed_values:uuid_binary"),
        ),
        shown="text.display:binary_shown",
        editable="text.value_editing:binary_editable",
        blank='BinData(0, "")',
        hint='write it as BinData(0, "SGVsbG8=") or UUID("…")',
        helpers=(
            Helper("UUID", 'UUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")', "text.shell_calls:uuid_binary"),
            Helper("BinData", 'BinData(0, "SGVsbG8=")', "text.shell_calls:base64_binary", 2),
            Helper("LUUID", 'LUUID("64d2ff73-b344-694c-90e8-e7d1dfc035d4")', "text.shell_calls:old_uuid"),
            Helper("PYUUID", 'PYUUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")', "text.shell_calls:old_uuid"),
            Helper("JUUID", 'JUUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")', "text.shell_calls:java_uuid"),
            Helper("CSUUID", 'CSUUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")', "text.shell_calls:net_uuid"),
            Helper("NUUID", 'NUUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")', "text.shell_calls:net_uuid"),
            Helper(
                "Binary.createFromBase64", 'Binary.createFromBase64("SGVsbG8=", 0)', "text.shell_calls:from_base64", 2
            ),
            Helper("HexData", 'HexData(0, "48656c6c6f")', "text.shell_calls:hexadecimal_binary", 2),
        ),
        offered='UUID("")',
        driver="Binary",
        python="server.code_preview:python_binary",
        mongosh="server.code_preview:mongosh_binary",
    ),
    Kind(
        name="Regex",
        code=REGEX,
        alias="regex",
        length=Strings(2),
        rank=50,
        order="mql.order:regex_key",
        text="text.scalars:regex_text",
        wrappers=(Wrapper("$regularExpression", "text.typed_values:regex"),),
        shown="text.display:regex_shown",
        editable="text.value_editing:regex_editable",
        blank="/(?:)/",
        hint="write it as /pattern/i",
        helpers=(
            Helper("RegExp", 'RegExp("^a", "i")', "text.shell_calls:regex", 2),
            Helper("BSONRegExp", 'BSONRegExp("^a", "i")', "text.shell_calls:regex", 2),
        ),
        driver="Regex",
        python="server.code_preview:python_regex",
        mongosh="server.code_preview:mongosh_regex",
    ),
    Kind(
        name="Timestamp",
        code=TIMESTAMP,
        alias="timestamp",
        length=8,
        rank=47,
        order="mql.order:timestamp_key",
        text="text.scalars:timestamp_text",
        wrappers=(Wrapper("$timestamp", "text.typed_values:timestamp"),),
        shown="text.display:timestamp_shown",
        editable="text.value_editing:timestamp_editable",
        blank="Timestamp(0, 0)",
        hint="write it as Timestamp(1700000000, 1)",
        helpers=(Helper("Timestamp", "Timestamp(1700000000, 1)", "text.shell_calls:timestamp", 2),),
        offered="Timestamp(0, 0)",
        driver="Timestamp",
        python="server.code_preview:python_timestamp",
        mongosh="server.code_preview:mongosh_timestamp",
    ),
    Kind(
        name="Code",
        code=CODE,
        alias="javascript",
        length=Prefixed(extra=4, least=1),
        rank=60,
        order="mql.order:text_key",
        text="text.scalars:code_text",
        wrappers=(Wrapper("$code", "text.typed_values:code"),),
        shown="text.display:code_shown",
        blank='Code("")',
        hint='write it as Code("text")',
        helpers=(_CODE,),
        driver="Code",
        python="server.code_preview:python_code",
        mongosh="server.code_preview:mongosh_code",
        is_text=True,
    ),
    Kind(
        name="Code with scope",
        code=SCOPED_CODE,
        alias="javascriptWithScope",
        length=Prefixed(extra=0, least=14),
        rank=65,
        order="mql.order:scoped_code_key",
        wrappers=(Wrapper("$code", "text.typed_values:code"),),
        shown="text.display:scoped_code_shown",
        blank='Code("", {})',
        hint='write it as Code("text", {})',
        helpers=(_CODE,),
        driver="Code",
        python="server.code_preview:python_scoped_code",
        mongosh="server.code_preview:mongosh_scoped_code",
    ),
    Kind(
        name="MinKey",
        code=MIN_KEY,
        alias="minKey",
        length=0,
        rank=-1,
        word="MinKey",
        notation='{"$minKey": 1}',
        wrappers=(Wrapper("$minKey", "text.typed_values:least"),),
        helpers=(Helper("MinKey", "MinKey()", "text.shell_calls:least"),),
        driver="MinKey",
        python="server.code_preview:python_end",
    ),
    Kind(
        name="MaxKey",
        code=MAX_KEY,
        alias="maxKey",
        length=0,
        rank=127,
        word="MaxKey",
        notation='{"$maxKey": 1}',
        wrappers=(Wrapper("$maxKey", "text.typed_values:greatest"),),
        helpers=(Helper("MaxKey", "MaxKey()", "text.shell_calls:greatest"),),
        driver="MaxKey",
        python="server.code_preview:python_end",
    ),
    Kind(
        name="Undefined",
        code=UNDEFINED,
        alias="undefined",
        length=0,
        rank=0,
        word="undefined",
        notation='{"$undefined": true}',
        wrappers=(Wrapper("$undefined", "text.typed_values:undefined"),),
        mongosh="server.code_preview:mongosh_word",
        is_deprecated=True,
    ),
    Kind(
        name="DBPointer",
        code=DB_POINTER,
        alias="dbPointer",
        length=Prefixed(extra=16, least=1),
        rank=55,
        order="mql.order:bytes_key",
        text="text.scalars:pointer_text",
        wrappers=(Wrapper("$dbPointer", "text.typed_values:pointer"),),
        shown="text.display:pointer_shown",
        blank='DBPointer("", ObjectId("000000000000000000000000"))',
        helpers=(
            Helper(
                "DBPointer", 'DBPointer("db.name", ObjectId("64f0a1c29b1e8a0012c4d7aa"))', "text.shell_calls:pointer", 2
            ),
        ),
        mongosh="server.code_preview:mongosh_nothing",
        is_deprecated=True,
    ),
    Kind(
        name="Symbol",
        code=SYMBOL,
        alias="symbol",
        length=Prefixed(extra=4, least=1),
        rank=15,
        order="mql.order:text_key",
        text="text.scalars:symbol_text",
        wrappers=(Wrapper("$symbol", "text.typed_values:symbol"),),
        shown="text.display:symbol_shown",
        blank='Symbol("")',
        helpers=(
            Helper("Symbol", 'Symbol("text")', "text.shell_calls:symbol"),
            Helper("BSONSymbol", 'BSONSymbol("text")', "text.shell_calls:symbol"),
        ),
        mongosh="server.code_preview:mongosh_symbol",
        is_text=True,
        is_deprecated=True,
    ),
)
"""Every kind, in the order of the menus."""

BY_CODE: dict[int, Kind] = {kind.code: kind for kind in KINDS}
BY_NAME: dict[str, Kind] = {kind.name: kind for kind in KINDS}
OFFERED: tuple[str, ...] = tuple(kind.name for kind in KINDS if not kind.is_deprecated)
"""The names of the kinds that people can choose; deprecated ones can only be kept."""

NUMBERS: tuple[int, ...] = tuple(kind.code for kind in KINDS if kind.is_number)
TEXTS: tuple[int, ...] = tuple(kind.code for kind in KINDS if kind.is_text)
"""The kinds that consist of one text."""

FIXED: dict[int, int] = {kind.code: kind.length for kind in KINDS if isinstance(kind.length, int)}
"""The payload length of kinds with a fixed length."""

PREFIXED: dict[int, Prefixed] = {kind.code: kind.length for kind in KINDS if isinstance(kind.length, Prefixed)}
STRINGS: dict[int, int] = {kind.code: kind.length.count for kind in KINDS if isinstance(kind.length, Strings)}


def function(name: str) -> Callable[..., Any]:
    """The function that a row names; imports its file. Raises ``LookupError`` if the file has no such function."""
    file, _, of = name.partition(":")
    try:
        found: Callable[..., Any] | None = getattr(import_module(f"model.{file}"), of, None)
    except ModuleNotFoundError as error:
        if not f"model.{file}".startswith(error.name or " "):  # the file is there, and imports one that is not
            raise
        found = None
    # An AttributeError could be taken for one of a module that imports lazily. A file asks for a column while it is
    # imported, and then has only the functions above that line.
    if found is None:
        path = f"model/{file.replace('.', '/')}.py"
        raise LookupError(f"A row of model/values/kinds.py names {name}: write {of} in {path}, above its tables.")
    return found


@cache
def functions(column: Column) -> dict[int, Callable[..., Any]]:
    """The functions in a column, by code; kinds without one are left out."""
    return {kind.code: function(getattr(kind, column)) for kind in KINDS if getattr(kind, column)}
