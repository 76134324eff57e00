"""The driver of each language, and where the programs are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.writers.libraries import installed

HERE = Path(__file__).parent
NEEDED = {"python": (), "node": ("node", "npm"), "java": ("java", "javac", "mvn")}


def modules_for(language: str) -> Path:
    """The folder with the driver, installed the first time; skips where the language is not there."""
    if not all(map(shutil.which, NEEDED[language])):
        pytest.skip(f"{', '.join(NEEDED[language])} are needed")
    return Path() if language == "python" else installed(HERE / language)
