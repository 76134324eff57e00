"""``python -m tests.gui.tour.watched_tour [--first=N] DIR``: the tour in a language of signs, read and watched.

Takes the arguments of ``palimpsest tour``; with ``--first`` it ends after that many views. After the names of the
pictures it prints a JSON row: how many texts were seen, the ``bare`` ones that did not go through the door (view,
widget's class, text), the commands sent, and those of them without a limit on the server. Ends with 1 if there is a
bare text.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice

from PySide6.QtWidgets import QWidget

from gui import language
from gui.tour import tour
from tests.model.command_log import listening
from tests.translating.bare_texts import Signs, bare, known_words, texts_in_sight

LEFT_OUT = ("states", "help", "about")
"""The tour's own page; the manual, in English; names and versions."""


def main(words: Sequence[str]) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--first", default="")
    wanted, words = parser.parse_known_args(words)
    language.use(Signs())
    from gui.tour import tour_views  # texts in tables are made when their module is loaded

    known = known_words()
    seen: list[str] = []
    found: dict[str, tuple[str, str, str]] = {}

    class Watched(tour_views.TourViews):
        """Each view is read before it is drawn."""

        def views(self) -> Iterator[tuple[str, QWidget]]:
            for view, shown in islice(super().views(), int(wanted.first) if wanted.first else None):
                for widget, text in texts_in_sight() if view not in LEFT_OUT else ():
                    seen.append(text)
                    if text not in found and bare(text, known):
                        found[text] = view, type(widget).__name__, text
                yield view, shown

    tour_views.TourViews = Watched  # type: ignore[misc]
    with listening() as log:
        ended = tour.main(words)
    heard = {"commands": sorted(set(log.names)), "unbounded": log.unbounded}
    print(json.dumps({"texts": len(seen), "bare": [*found.values()]} | heard, ensure_ascii=False))
    return ended or bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
