"""The grammar and the functions behind it."""

from __future__ import annotations

import argparse
import importlib
import inspect

from model.commands import grammar
from model.layouts import registry
from model.layouts.layout_names import LAYOUT_NAMES, PATTERN_NAMES, WRITABLE_LAYOUTS
from model.recognition import patterns
from tests import support


@support.table("name", grammar.names())
def test_every_command_runs_a_function_that_takes_its_arguments(name: str) -> None:
    module, _, function = grammar.parser(name).commands[name].get_default("run").partition(":")
    run = getattr(importlib.import_module(f"model.commands.{module}"), function)
    assert inspect.get_annotations(run, eval_str=True) == {"args": argparse.Namespace, "return": int}
    assert inspect.getdoc(run)


def test_the_grammar_names_the_layouts_that_there_are_in_their_order() -> None:
    file = "model/layouts/layout_names.py"
    assert support.all_named(registry.LAYOUTS, LAYOUT_NAMES, f"LAYOUT_NAMES in {file}")
    assert support.all_named(registry.WRITABLE, WRITABLE_LAYOUTS, f"WRITABLE_LAYOUTS in {file}")
    assert (*registry.LAYOUTS, *patterns.PATTERNS) == (*LAYOUT_NAMES, *PATTERN_NAMES) == registry.NAMES
    assert tuple(registry.WRITABLE) == WRITABLE_LAYOUTS
