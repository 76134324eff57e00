"""The page of notices names every package installed with Palimpsest, with the licence that the package states."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resources import manual
from tests import support
from tests.resources.manual_text import rows

PROJECT = tomllib.loads((support.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DIRECT = {
    canonicalize_name(name): licence
    for name, licence, _ in rows(manual.page("notices"), "package", "licence", "what for")
}
BROUGHT = {
    canonicalize_name(name): licence for name, licence, _ in rows(manual.page("notices"), "package", "licence", "for")
}
FAMILIES = ("LGPL", "GPL", "AGPL", "MPL", "APACHE", "BSD", "MIT", "ISC", "PSF", "EPL")


def installed(requirements: list[str]) -> Iterator[str]:
    """The packages that these requirements bring here, and those that they bring in turn."""
    seen: set[str] = set()
    waiting = list(requirements)
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        if name in seen or (wanted.marker is not None and not wanted.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        yield name
        waiting += importlib.metadata.requires(name) or []


HERE = sorted(installed(PROJECT["dependencies"]))


def families(licence: str) -> set[str]:
    """The families of licences that a text speaks of: ``Apache-2.0 OR BSD-3-Clause`` is of two."""
    words = re.findall(r"[A-Z]+", licence.upper().replace("PYTHON SOFTWARE FOUNDATION", "PSF"))
    return {word for word in words if word in FAMILIES}


def stated(name: str) -> str:
    """What a package's own metadata say of its licence."""
    said = importlib.metadata.metadata(name)
    classifiers = [each for each in said.get_all("Classifier", []) if each.startswith("License")]
    return said.get("License-Expression") or " ".join([*classifiers, (said.get("License") or "")[:100]])


def test_the_packages_that_palimpsest_asks_for_are_those_that_are_listed() -> None:
    assert set(DIRECT) == {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    assert not set(DIRECT) & set(BROUGHT)


@pytest.mark.parametrize("name", HERE)
def test_every_package_that_is_installed_is_named_with_its_own_licence(name: str) -> None:
    assert name in DIRECT | BROUGHT
    assert families(stated(name)) == families((DIRECT | BROUGHT)[name])


def test_the_icons_and_their_licence_are_named() -> None:
    licence = (support.ROOT / "resources" / "icons" / "LICENSE").read_text("utf-8")
    assert licence.startswith("MIT License")
    (holder,) = re.findall(r"Copyright \(c\) (.+)", licence)
    page = " ".join(manual.page("notices").split())
    assert f"copyright {holder}, under the MIT licence" in page
    assert "resources/icons/LICENSE" in page


def test_no_font_is_shipped() -> None:
    assert not [
        path for path in (support.ROOT / "resources").rglob("*") if path.suffix in (".ttf", ".otf", ".woff", ".woff2")
    ]
