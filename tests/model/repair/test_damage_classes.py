"""The table of damage: each class is complete, and its check finds it."""

from __future__ import annotations

import inspect
import re

from model.repair.damage_classes import CLASSES, GROUPS, REPAIRS, DamageClass
from tests import support
from tests.support import ROOT

GAPS = ("V2", "A4", "D1", "R1", "E1")  # one check tells them, by the layout's own code


@support.table("of", CLASSES.values(), ids=lambda of: of.code)
def test_every_class_says_what_it_is_where_it_is_found_and_what_can_be_done(of: DamageClass) -> None:
    assert of.group in GROUPS
    assert all(said.endswith(".") for said in (of.meaning, of.today, of.advice))
    assert of.title[0].isupper()
    assert not of.title.endswith(".")
    assert of.check is not None
    said = inspect.getsource(inspect.getmodule(of.check) or of.check)
    assert f'"{of.code}"' in said or (of.code in GAPS and "ground.gap" in said) or of.code == "B1"


def test_every_code_that_a_check_tells_is_in_the_table() -> None:
    code = re.compile(r"""(?:Draft|Finding)\(\s*"(\w+)\"""")
    told = {said for path in (ROOT / "model").rglob("*.py") for said in code.findall(path.read_text("utf-8"))}
    assert len(told) > 15
    assert told <= set(CLASSES)


def test_a_repair_belongs_to_one_class_and_its_turn_to_no_other() -> None:
    repairs = [of.repair for of in CLASSES.values() if of.repair is not None]
    assert len(repairs) == len(REPAIRS) == len({repair.rank for repair in repairs})
    assert [repair.rank for repair in REPAIRS.values()] == sorted(repair.rank for repair in repairs)
    assert all(repair.second_look is not None for repair in repairs if repair.removes)
