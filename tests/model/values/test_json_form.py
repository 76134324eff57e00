"""The JSON text of a document is byte for byte what the program that it is named after writes."""

from __future__ import annotations

import datetime as dt
import json

import bson
import pytest
from bson import Decimal128, Int64, ObjectId
from bson.binary import Binary

from model.errors import Refused
from model.values.json_form import JsonForm
from tests import support

WHEN = dt.datetime(2023, 11, 14, 22, 13, 20, 123000)
ID = ObjectId("65a1b2c3d4e5f60718293a4b")
ODD = {
    "b": 1,
    "amount": 1e21,
    "small": 1e-7,
    "half": 0.5,
    "whole": 3.0,
    "text": 'Grüße "x"\n',
    "when": WHEN,
    "id": ID,
    "none": None,
    "list": [1, True, {"z": 1, "a": 2}],
    "10": "ten",
    "9": "nine",
}
# As Node 20 prints it for the document that its driver reads.
AS_NODE = (
    '{"9":"nine","10":"ten","b":1,"amount":1e+21,"small":1e-7,"half":0.5,"whole":3,"text":"Grüße \\"x\\"\\n",'
    '"when":"2023-11-14T22:13:20.123Z","id":"65a1b2c3d4e5f60718293a4b","none":null,"list":[1,true,{"z":1,"a":2}]}'
)


def test_javascript_writes_numbers_dates_and_small_whole_names_in_its_own_way() -> None:
    assert JsonForm("javascript").text(bson.encode(ODD)).decode() == AS_NODE


@support.table(
    "number, written",
    [
        (0.0, "0"),
        (-0.0, "0"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (-1.5e-9, "-1.5e-9"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (100.0, "100"),
        (12.75, "12.75"),
        (float("nan"), "null"),
        (float("-inf"), "null"),
    ],
)
def test_a_double_has_the_digits_that_javascript_gives_it(number: float, written: str) -> None:
    assert JsonForm("javascript").text(bson.encode({"n": number})).decode() == f'{{"n":{written}}}'


def test_python_writes_what_json_has_no_word_for_as_text() -> None:
    made = {"when": WHEN, "id": ID, "price": Decimal128("1.10"), "n": 1.0, "ü": "é"}
    python = json.dumps(made, default=str)
    assert JsonForm().text(bson.encode(made)).decode() == python
    assert '"2023-11-14 22:13:20.123000"' in python
    assert '"2023-11-14T22:13:20.123000"' in JsonForm("iso").text(bson.encode(made)).decode()


def test_names_are_sorted_at_every_depth_and_spaces_and_characters_are_as_asked_for() -> None:
    made = {"z": {"b": 1, "a": [{"d": 1, "c": "ü"}]}, "a": 2}
    form = JsonForm(is_sorted=True, spaced=False, ascii=False)
    assert form.text(bson.encode(made)).decode() == '{"a":2,"z":{"a":[{"c":"ü","d":1}],"b":1}}'
    assert JsonForm(is_sorted=True).text(bson.encode(made)).decode() == json.dumps(made, sort_keys=True)


def test_the_drivers_extended_json_is_relaxed() -> None:
    made = {"when": WHEN, "id": ID, "n": Int64(7)}
    text = JsonForm("extended", spaced=False).text(bson.encode(made)).decode()
    assert text == '{"when":{"$date":"2023-11-14T22:13:20.123Z"},"id":{"$oid":"65a1b2c3d4e5f60718293a4b"},"n":7}'


@support.table("value", [Int64(2**60), Binary(b"\0" * 16, 4), bson.Timestamp(1, 2), bson.MinKey()])
def test_what_javascript_has_no_one_word_for_is_refused(value: object) -> None:
    with pytest.raises(Refused, match="cannot be written as JSON"):
        JsonForm("javascript").text(bson.encode({"v": value}))
