"""Modules that are imported when something in them is first used: few commands and windows need every part."""

from __future__ import annotations

import importlib


class LateModule:
    """Stands for a module. Its users import the module itself for type checkers alone."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        # Not from the modules that are loaded: while another thread imports this one, half of it is there.
        return getattr(importlib.import_module(self._name), name)
