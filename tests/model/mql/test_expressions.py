"""Expressions over stored bytes: their values keep the types that a server gives them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import bson
import pytest
from bson import Code, Decimal128, Int64, ObjectId, Timestamp

from model.errors import Refused
from model.mql.command_error import CommandError
from model.mql.expressions import Scope, compile_expression
from model.mql.filters import predicate
from model.values import canonical as c
from tests import support

DAY = dt.datetime(2024, 2, 29, 23, 59, 59)
DOCUMENT: dict[str, Any] = {
    "n": 7,
    "l": [1, 2.5, "x", None],
    "text": "Ünïcode Text",
    "at": DAY,
    "none": None,
    "empty": [],
}


def evaluated(expression: Any) -> Any:
    """What an expression makes of the document, by its bytes; None where that is no value."""
    operand = c.Value.of(expression)
    result = compile_expression((operand.type, operand.data))(Scope(bson.encode(DOCUMENT)))
    return None if result is None else bson.encode({"r": bson.decode(c.document([("r", c.Value(*result))]))["r"]})


@support.table(
    "expression, value",
    [
        ({"$abs": -7}, 7),
        ({"$abs": -(2**31)}, Int64(2**31)),
        ({"$abs": Int64(-7)}, Int64(7)),
        ({"$abs": -0.5}, 0.5),
        (
            {"$abs": Decimal128("-1.234567890123456789012345678901234")},
            Decimal128("1.234567890123456789012345678901234"),
        ),
        ({"$abs": "$none"}, None),
        ({"$ceil": 1.2}, 2.0),
        ({"$ceil": -0.5}, -0.0),
        ({"$ceil": Decimal128("1.2")}, Decimal128("2")),
        ({"$ceil": "$n"}, 7),
        ({"$ceil": float("-inf")}, float("-inf")),
        ({"$floor": -1.2}, -2.0),
        ({"$floor": Int64(3)}, Int64(3)),
        ({"$floor": Decimal128("NaN")}, Decimal128("NaN")),
        ({"$floor": "$nothing"}, None),
        ({"$mod": ["$n", 4]}, 3),
        ({"$mod": [-7, 4]}, -3),
        ({"$mod": [Int64(7), 4]}, Int64(3)),
        ({"$mod": [-7.5, 2]}, -1.5),
        ({"$mod": [float("inf"), 2]}, float("nan")),
        ({"$mod": [Decimal128("7.5"), 2]}, Decimal128("1.5")),
        ({"$mod": ["$none", 2]}, None),
        ({"$sum": "$l"}, 3.5),
        ({"$sum": ["$n", "$text", Int64(1)]}, Int64(8)),
        ({"$sum": [Int64(2**62), Int64(2**62)]}, float(2**63)),
        ({"$sum": "$nothing"}, 0),
        ({"$add": [Int64(2**62), Int64(2**62), 1]}, float(2**63)),
        ({"$multiply": [Int64(2**62), Int64(4)]}, float(2**64)),
        ({"$subtract": [Int64(-(2**63)), Int64(2**62)]}, -float(2**63 + 2**62)),
        ({"$avg": ["$n", 8]}, 7.5),
        ({"$avg": "$empty"}, None),
        ({"$year": "$at"}, 2024),
        ({"$month": {"date": "$at"}}, 2),
        ({"$dayOfMonth": ["$at"]}, 29),
        ({"$dayOfMonth": {"$add": ["$at", 1000]}}, 1),
        ({"$year": ObjectId("000000000000000000000000")}, 1970),
        ({"$year": Timestamp(86_400 * 366, 5)}, 1971),
        ({"$year": "$none"}, None),
        ({"$toLower": "$text"}, "Ünïcode text".replace("U", "u")),
        ({"$toUpper": "$text"}, "ÜNïCODE TEXT"),
        ({"$toUpper": "$nothing"}, ""),
        ({"$toLower": 1.5}, "1.5"),
        ({"$toUpper": Code("a b")}, "A B"),
        ({"$substrCP": ["$text", 1, 3]}, "nïc"),
        ({"$substrCP": ["$text", 8, 99]}, "Text"),
        ({"$substrCP": ["$none", 0, 1]}, ""),
        ({"$slice": ["$l", 2]}, [1, 2.5]),
        ({"$slice": ["$l", -1]}, [None]),
        ({"$slice": ["$l", 1, 2]}, [2.5, "x"]),
        ({"$slice": ["$l", -3, 1]}, [2.5]),
        ({"$slice": ["$l", -9, 1]}, [1]),
        ({"$slice": ["$nothing", 1]}, None),
    ],
    ids=str,
)
def test_a_function_gives_the_value_and_the_type_that_a_server_gives(expression: Any, value: Any) -> None:
    assert evaluated(expression) == bson.encode({"r": value})


@support.table(
    "expression, code",
    [
        ({"$abs": "$text"}, 28765),
        ({"$abs": Int64(-(2**63))}, 28680),
        ({"$ceil": "$l"}, 28765),
        ({"$mod": ["$n", "$text"]}, 16611),
        ({"$mod": ["$n", 0]}, 16610),
        ({"$year": "$text"}, 16006),
        ({"$year": {"date": "$at", "timezone": "+01:00"}}, 238),
        ({"$toLower": "$l"}, 16007),
        ({"$substrCP": ["$text", "1", 2]}, 34450),
        ({"$substrCP": ["$text", -1, 2]}, 34455),
        ({"$substrCP": ["$text", 0, -2]}, 34454),
        ({"$substrCP": ["$text", 0.5, 2]}, 34451),
        ({"$substrCP": ["$text", Decimal128("NaN"), 2]}, 34451),
        ({"$slice": ["$text", 1]}, 28724),
        ({"$slice": ["$l", "$text"]}, 28725),
        ({"$slice": ["$l", 1, 0]}, 28729),
        ({"$slice": ["$l"]}, 16020),
        ({"$nonsense": 1}, 168),
        ({"$dateToString": {"date": "$at"}}, 168),
    ],
    ids=str,
)
def test_a_function_refuses_operands_that_it_cannot_take_with_the_code_of_a_server(expression: Any, code: int) -> None:
    with pytest.raises(CommandError) as caught:
        evaluated(expression)
    assert caught.value.code == code


def test_a_filter_of_a_person_is_refused_by_the_operator_that_is_not_here() -> None:
    with pytest.raises(Refused) as caught:
        predicate(bson.encode({"$expr": {"$gt": [{"$dateToString": {"date": "$at"}}, "2024"]}}), "This condition")
    assert str(caught.value) == "This condition: Unrecognized expression '$dateToString'."
