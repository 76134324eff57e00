"""``python -m tests.translating``: update the catalogues from the code, and compile them.

New texts are listed; they are in ``resources/translations`` as unfinished, for Qt Linguist or any editor. Exit
status: 0 if every text is translated, else 1.
"""

from __future__ import annotations

import sys

from gui.language import LANGUAGES
from tests.translating import catalogue


def main() -> int:
    """Update and compile every language but English."""
    missing = 0
    for code in LANGUAGES.keys() - {"en"}:
        new, gone = catalogue.update(code)
        catalogue.compile_(code)
        for text in new:
            print(f"{code}: to be translated: {text.source!r}")
        print(f"{code}: {len(catalogue.read(code)):,} texts, {len(new):,} to be translated, {len(gone):,} gone")
        missing += len(new)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
