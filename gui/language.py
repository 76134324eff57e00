"""The language of the window: every text that people read goes through :func:`tr`, every noun with a number through
:func:`plural`.

The texts of the code are English; a catalogue in ``resources/translations`` holds those of another language. The
language is chosen once, before the modules with texts are loaded, so that texts in tables are right as well.
"""

from __future__ import annotations

from importlib import resources

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The languages there are, each by its own name."""
CONTEXT = "palimpsest"
COUNTED = "count"  # sets a noun that stands with a number apart from the word by itself

_code = "en"
_locale = QLocale("en_US")
_translator: QTranslator | None = None
_others: list[QTranslator] = []  # Qt keeps no reference
_known: dict[str, str] = {}


def choose(wanted: str) -> str:
    """Take a language from now on, that of the system unless there is the one wanted; returns its code."""
    global _code, _locale, _translator
    _code = wanted if wanted in LANGUAGES else of_system()
    _locale = QLocale("en_US" if _code == "en" else _code)
    _translator = None
    _known.clear()
    if _code != "en":
        made = QTranslator()
        if made.load(str(resources.files("resources").joinpath("translations", f"palimpsest_{_code}.qm"))):
            _translator = made
    return _code


def use(translator: QTranslator | None) -> None:
    """Take another translator in place of the catalogue."""
    global _translator
    _translator = translator
    _known.clear()


def install() -> None:
    """Give the application the words of Qt's own dialogs and menus, and the language's numbers."""
    QLocale.setDefault(locale())
    if _code != "en" and not _others:
        made = QTranslator()
        if made.load(f"qtbase_{_code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
            _others.append(made)
            QCoreApplication.installTranslator(made)


def of_system() -> str:
    """The first of the system's languages that there is; English where there is none."""
    asked = (name.partition("-")[0] for name in QLocale.system().uiLanguages())
    return next((code for code in asked if code in LANGUAGES), "en")


def locale() -> QLocale:
    """How numbers are written."""
    return _locale


def tr(text: str, /, **values: object) -> str:
    """A text in the window's language; ``values`` take the places of the names in its braces."""
    said = _known.get(text)
    if said is None:
        said = _known[text] = (_translator.translate(CONTEXT, text) if _translator is not None else "") or text
    return said.format(**values) if values else said


def plural(number: int, one: str, more: str = "") -> str:
    """The noun for a number, without the number: ``field``, ``fields``."""
    said = _translator.translate(CONTEXT, one, COUNTED, min(abs(number), 2**31 - 1)) if _translator is not None else ""
    return said or (one if number == 1 else more or one + "s")
