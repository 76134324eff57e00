"""From its start, the window speaks the system's language, or the one chosen in Settings."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui import language
from gui.language import plural, tr, translated
from gui.parts.fields.field_model import VALUE as FIELD_VALUE
from gui.parts.fields.field_model import FieldModel
from gui.style import preferences, wording
from gui.views.browse.documents_model import health_said
from gui.views.browse.insert_sheet import InsertSheet
from gui.views.stating.key_row import KeyRow
from gui.views.stating.trial_pane import TrialModel
from gui.window.settings_dialog import SettingsDialog
from model.diff import diff
from model.diff.export import to_words
from model.profile import trouble_with
from model.profile.profile_keys import ROWS
from model.session.layout_statements import TriedDocument
from model.values import canonical
from model.values.canonical import Value
from tests import support
from tests.gui.window.windows import new_window


@pytest.fixture
def german() -> Iterator[None]:
    """German, for texts that are looked up from now on."""
    language.choose("de")
    yield
    language.choose("en")


@pytest.mark.usefixtures("german")
def test_a_text_is_said_in_the_language_with_its_values() -> None:
    assert tr("Time zone") == "Zeitzone"
    assert tr("As the system ({zone})", zone="{UTC}") == "Wie im System ({UTC})"
    assert [plural(number, "field") for number in (0, 1, 2, 2**40)] == ["Felder", "Feld", "Felder", "Felder"]
    assert tr("Nobody has translated this.") == "Nobody has translated this."


@pytest.mark.usefixtures("german")
def test_a_noun_with_a_number_stands_in_the_case_that_a_german_preposition_asks_for() -> None:
    nouns = [wording.many(number, noun) for noun in ("document", "field", "version") for number in (1, 2)]
    assert [tr("{span} of {of}", span="1", of=noun) for noun in nouns] == [
        "1 von 1 Dokument", "1 von 2 Dokumenten", "1 von 1 Feld", "1 von 2 Feldern", "1 von 1 Version",
        "1 von 2 Versionen",
    ]  # fmt: skip


@pytest.mark.usefixtures("german")
def test_a_date_without_its_time_ends_with_its_year() -> None:
    assert wording.date(dt.datetime(2021, 5, 28, 12, tzinfo=dt.UTC)).endswith(" 2021")


@pytest.mark.usefixtures("german")
def test_each_part_of_a_documents_health_is_translated() -> None:
    assert health_said("3 missing, 1 hash differs") == f"{translated('3 missing')}, {translated('1 hash differs')}"
    assert "missing" not in health_said("3 missing, 1 hash differs")


@pytest.mark.usefixtures("german")
def test_numbers_in_sentences_of_the_model_are_written_as_the_language_does() -> None:
    said = translated("Scans 2,483 documents in the order of the index _id_ and finds 2,359.")
    assert "2.483" in said
    assert "2.359" in said
    assert translated("1 version missing") == "1 Version fehlt"
    assert translated("2,483 versions missing") == "2.483 Versionen fehlen"


@pytest.mark.usefixtures("german")
def test_numbers_sizes_and_times_are_written_as_the_language_does() -> None:
    at = dt.datetime(2026, 7, 1, 22, 30, tzinfo=dt.UTC)
    assert wording.many(2318, "field") == "2.318 Felder"
    assert [wording.size(n) for n in (2150, 16_777_216)] == ["2,1 KB", "16,0 MB"]
    # The names of the months stand in a table that was made in English.
    assert wording.moment(at) == "02. Jul 2026, 00:30"


def test_a_text_without_a_catalogue_is_that_of_the_code() -> None:
    assert tr("As the system ({zone})", zone="UTC") == "As the system (UTC)"
    assert [plural(1, "class", "classes"), plural(2, "class", "classes"), plural(2, "field")] == [
        "class",
        "classes",
        "fields",
    ]


def said_at_start(speech: str, kept: str = "") -> list[str]:
    """The language, a text of a table and a number, of a program that has just started."""
    if kept:
        preferences.put("language", kept)
    preferences.forget()
    code = (
        "from gui import __main__, language; __main__._choose_language(); "
        "from gui.style import wording; from gui.window import settings_dialog as s; "
        "print(language._code, s.THEMES[1][1], wording.MONTHS[4], wording.count(2318), sep='|')"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=support.ROOT, env=env | {"LANG": speech},
        capture_output=True, check=True, encoding="utf-8",
    )  # fmt: skip
    return done.stdout.strip().split("|")


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the language is not a variable")
def test_the_language_of_the_system_is_taken_where_there_is_a_catalogue_for_it() -> None:
    assert said_at_start("de_DE.UTF-8") == ["de", "Hell", "Mai", "2.318"]
    assert said_at_start("de_AT.UTF-8")[0] == "de"
    assert said_at_start("C.UTF-8") == said_at_start("zu_ZA.UTF-8") == ["en", "Light", "May", "2,318"]


def test_the_language_of_the_settings_goes_before_that_of_the_system() -> None:
    assert said_at_start("C.UTF-8", "de") == ["de", "Hell", "Mai", "2.318"]
    assert said_at_start("de_DE.UTF-8", "en") == ["en", "Light", "May", "2,318"]


def test_a_language_is_chosen_in_the_settings(qtbot: QtBot) -> None:
    asked = SettingsDialog(new_window(qtbot))
    asked.open()
    assert [button.text() for button in asked.language.group.buttons()] == [
        "As the system",
        *language.LANGUAGES.values(),
    ]
    asked.language.group.button(2).click()
    preferences.forget()
    assert preferences.get("language") == "de"


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("Saved as v5.", "Gespeichert als v5."),
        ("A-1 changed since (v2 → v3); nothing was written.",
         "A-1 hat sich seitdem geändert (v2 → v3); es wurde nichts geschrieben."),
        ("the text ends too early", "der Text endet zu früh"),
        ("Line 3, column 9: the text ends too early; expected a comma or }.",
         "Zeile 3, Spalte 9: der Text endet zu früh; erwartet wird ein Komma oder }."),
        ("v13 of K-1 did not change price and name.", "v13 von K-1 hat price und name nicht geändert."),
        ("K-1 was changed later in premium.net, name and 1,003 more; take v13 back by hand.",
         "K-1 wurde später in premium.net, name und 1.003 weitere geändert; nehmen Sie v13 von Hand zurück."),
        ("Answers from the index a_1 and b_1 alone, and finds 3.",
         "Antwortet allein aus dem Index a_1 und b_1 und findet 3."),
        ("v9 above current v8", "v9 über dem aktuellen v8"),
        ("earlier versions in contracts_history", "frühere Versionen in contracts_history"),
        ("Every later edit of the document is refused. Soon no edit of it can be saved.",
         "Jede spätere Bearbeitung des Dokuments wird abgelehnt. Bald lässt sich keine Bearbeitung mehr speichern."),
        ("Nobody has translated this. Saved as v5.", "Nobody has translated this. Gespeichert als v5."),
        ("edit changed since (delete → in the archive); nothing was written.",
         "edit hat sich seitdem geändert (delete → im Archiv); es wurde nichts geschrieben."),
        ("Unique index on docId and v; all 16 ids looked up in docId have several versions, numbered without gaps in "
         "v; v rises with time in 14 of 16 documents checked and 2 are damaged; _w is a write "
         "token and _id is the hash of the content.",
         "Eindeutiger Index auf docId und v; alle 16 Ids, in docId nachgeschlagen, haben mehrere Versionen, in v "
         "lückenlos nummeriert; bei der Prüfung steigt v in 14 von 16 Dokumenten mit der Zeit und 2 sind "
         "beschädigt; _w ist ein Schreib-Token und _id ist der Hash des Inhalts."),
        ("The collection a holds the earlier version of all 12 documents looked up, and no current one, found by x and "
         "v.",
         "Die Sammlung a enthält die frühere Version von allen 12 Dokumenten, die nachgeschlagen wurden, und keine "
         "aktuelle, gefunden über x und v."),
        ("All 3 documents sampled have a name as _id and one whole number, seq, in a collection called counters.",
         "In allen 3 Dokumenten der Stichprobe stehen ein Name als _id und eine ganze Zahl, seq, in einer Sammlung "
         "namens counters."),
        ("Only the first documents of a.b have been read; this has to wait for the others.",
         "Von a.b sind erst die ersten Dokumente gelesen; das muss auf die übrigen warten."),
        ("db.example → 10.0.0.7, 10.0.0.8.", "db.example → 10.0.0.7, 10.0.0.8."),
        ("Logged in as eva (admin) by SCRAM-SHA-256.", "Angemeldet als eva (admin) über SCRAM-SHA-256."),
        ("This user reads all databases and writes a.b.", "Dieser Benutzer liest alle Datenbanken und schreibt a.b."),
        ("ssh does not trust the key of jump; run `ssh jump` in a terminal once, and compare the key.",
         "ssh vertraut dem Schlüssel von jump nicht; führen Sie einmal `ssh jump` in einem Terminal aus, und "
         "vergleichen Sie den Schlüssel."),
        ("h:27017 refuses the connection; check the port, and that a server runs there. ssh says: channel 1: closed.",
         "h:27017 lehnt die Verbindung ab; prüfen Sie den Port und ob dort ein Server läuft. ssh sagt: channel 1: "
         "closed."),
        ("in.bson.gz is cut off: its gzip data ends too early; copy it or dump it again.",
         "in.bson.gz ist abgeschnitten: Die gzip-Daten enden zu früh; kopieren Sie es neu, oder sichern Sie sie neu."),
        ("Not an Object: line 1, column 3: the text ends too early; expected a comma or }.",
         "Kein Object: Zeile 1, Spalte 3: der Text endet zu früh; erwartet wird ein Komma oder }."),
        ("Line 2 of t.csv, column n: Not an Int32: write a whole number.",
         "Zeile 2 von t.csv, Spalte n: Kein Int32: schreiben Sie eine ganze Zahl."),
        ("broken.json: Line 1, column 4: expected a value; expected a name in double quotes.",
         "broken.json: Zeile 1, Spalte 4: erwartet wird ein Wert; erwartet wird ein Name in doppelten "
         "Anführungszeichen."),
        ("Token abc of K-1 was taken out, as it was counted already: count is 41 now.",
         "Token abc von K-1 wurde herausgenommen, da es schon gezählt war: count ist jetzt 41."),
        ("SHA-256 of the content as JSON (Python's, other values as str(), without spaces), names sorted, without x.",
         "SHA-256 aus dem Inhalt als JSON (wie Python, andere Werte als str(), ohne Leerzeichen), Namen sortiert, "
         "ohne x."),
        ('archive_id must be a path such as "d._id", not 3',
         'archive_id muss ein Pfad wie "d._id" sein, nicht 3'),
        ("its patch does not apply: a.b is an object of 3 fields and should be 7",
         "sein Patch lässt sich nicht anwenden: a.b ist ein Objekt mit 3 Feldern und müsste 7 sein"),
        ("First v14 is copied to a.b_history. The swap then applies only if v is still 14 and _w is unchanged.",
         "Zuerst wird v14 nach a.b_history kopiert. Der Tausch gilt dann nur, wenn v noch 14 ist und _w unverändert."),
        ("First v14 is copied to a.b_history. The swap then applies only if v is still 14.",
         "Zuerst wird v14 nach a.b_history kopiert. Der Tausch gilt dann nur, wenn v noch 14 ist."),
        ("First v14 is copied to a.b_history. The swap then applies only if v is still 14 and _w is unchanged. "
         "Beside the edited fields it writes v, _w and changedAt.",
         "Zuerst wird v14 nach a.b_history kopiert. Der Tausch gilt dann nur, wenn v noch 14 ist und _w unverändert. "
         "Außer den bearbeiteten Feldern schreibt es v, _w und changedAt."),
        ("", ""),
    ],
)  # fmt: skip
def test_a_sentence_of_the_model_is_said_with_its_values(english: str, said: str) -> None:
    assert translated(english) == said


@pytest.mark.usefixtures("german")
def test_each_sentence_with_values_is_found_by_its_rarest_word() -> None:
    known = language._model("de")
    each = [sentence for rows in known._by_word.values() for _, sentence in rows]
    assert len(each) > 600
    for value in ("x", "7", "a_b.c", "Ärger", "two words"):
        assert not [sentence.parts for sentence in each if sentence not in known.like(value.join(sentence.parts))]
    assert max(len(rows) for word, rows in known._by_word.items() if word) < 30  # or all would be gone through


@pytest.mark.usefixtures("german")
def test_patterns_are_compiled_for_the_sentences_alone_that_are_looked_at() -> None:
    language._model.cache_clear()
    assert translated("Saved as v5.") == "Gespeichert als v5."
    each = [sentence for rows in language._model("de")._by_word.values() for _, sentence in rows]
    assert sum("pattern" in vars(sentence) for sentence in each) < 20


@pytest.mark.usefixtures("german")
def test_the_sheet_of_a_layout_says_in_the_language_why_a_key_does_not_fit(qtbot: QtBot) -> None:
    row = KeyRow(ROWS["version"], "a.b", "", "", 60)
    qtbot.addWidget(row)
    row.show_trouble(trouble_with("version", "a.b", "versions"))
    assert row.about.text() == (
        "version muss der Name eines Feldes auf der obersten Ebene sein, ohne Punkte und Dollarzeichen, nicht 'a.b'"
    )
    tried = TriedDocument(Value.of("K-1"), None, trouble="There is no document K-1 in a.b; refresh the list.")
    cell = TrialModel()._of_document(tried, 2)
    assert cell.spans[0].text == "Es gibt kein Dokument K-1 in a.b; laden Sie die Liste neu."


@pytest.mark.usefixtures("german")
def test_one_sentence_of_a_text_is_said_without_the_others() -> None:
    whole = "It is not known whether a copy was kept, so nothing was removed."
    assert translated(whole) == "Es ist nicht bekannt, ob eine Kopie aufbewahrt wurde, also wurde nichts entfernt."


def test_without_another_language_the_model_is_quoted() -> None:
    assert translated("Saved as v5.") == "Saved as v5."


def test_a_comparison_in_words_and_the_grounds_of_an_import_are_said_in_the_language(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (canonical.encode({"status": status, "n": 1}) for status in ("active", "lapsed"))
    told = [
        *to_words(diff(old, new)).splitlines(),
        "A document with this id is already there.",
        f"{'K-1'}: {'x'} is not a type",
    ]
    language.choose("de")
    try:
        said = [translated(line) for line in told]
        sheet = InsertSheet(QWidget(), "shop.items", "in.jsonl", production=False)
        sheet.staying.fill([("K-1", "A document with this id is already there.")])
        assert sheet.staying.cell(sheet.staying.index(0, 1)).text == "Ein Dokument mit dieser Id ist schon da."
    finally:
        language.choose("en")
    assert said == ['status wurde von "active" zu "lapsed".', "Ein Dokument mit dieser Id ist schon da.", told[-1]]


@pytest.mark.usefixtures("german")
def test_sizes_of_containers_advice_before_a_merge_and_missing_indexes_are_german() -> None:
    fields = FieldModel()
    fields.set_content(canonical.encode({"holder": {"name": "Eva", "city": "Ulm"}, "riders": []}), None)
    fields.set_open(fields.index(0, 0), True)
    assert fields.cell(fields.index(0, FIELD_VALUE)).text == "{ 2 Felder }"
    assert wording.by_size(0, is_array=True) == "[ ]"
    missing = "Scans 2,483 documents and finds 2,359. Index missing: { status: 1 }."
    assert translated(missing) == "Durchsucht 2.483 Dokumente und findet 2.359. Index fehlt: { status: 1 }."
    assert tr("those {asked}", asked=tr("two")) == "diesen zwei"
