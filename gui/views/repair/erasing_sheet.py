"""The sheet that erases fields of one document for good: which ones, where they lie, and the certificate after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from gui import messages, tasks
from gui.language import tr, translated
from gui.style import boxes, theme, wording
from gui.style.sheet import Sheet
from gui.style.states import button, words
from model.errors import Refused
from model.session import Session
from model.session.batch_writing import ELSEWHERE, Certificate, Found, Trace
from model.text.paths import path_from_text
from model.values.canonical import Path, Value

PLACES = {
    "versions": tr("versions"),
    "current": tr("the current document"),
    "archive": tr("archive"),
    "quarantine": tr("quarantine"),
    "journal": tr("journal"),
    "draft": tr("draft"),
    "states": tr("kept states"),
}
"""The kinds of places, in words."""


class ErasingSheet(Sheet):
    """Asks for fields, shows where they lie, and erases them once the words are typed that prove it is meant."""

    def __init__(self, parent: QWidget, session: Session, ns: str, id: Value, typed: str = "") -> None:
        """``typed`` is what is to be typed; without it, the document's id."""
        super().__init__(parent, 620)
        self._session, self._ns, self._id, self._name = session, ns, id, wording.plain(id)
        self._typed = typed or self._name
        self._looked: tuple[Path, ...] | None = None  # of which it was looked where they lie
        self._working = False
        self.certificate: Certificate | None = None
        title = tr("Erase fields of {name} for good", name=self._name)
        self.setAccessibleName(title)
        self.paths, self.reason, self.proof = QLineEdit(), QLineEdit(), QLineEdit()
        self.paths.setPlaceholderText(tr("holder.name, holder.phone"))
        self.paths.setProperty("mono", True)
        self.reason.setPlaceholderText(tr("stands in the certificate"))
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(12))
        for name, line in (
            (tr("Fields"), self.paths),
            (tr("Why"), self.reason),
            (tr("Type {words}", words=self._typed), self.proof),
        ):
            line.textChanged.connect(self._fit)
            boxes.add_field(form, name, line)
        self.paths.returnPressed.connect(self._look)
        self.proof.returnPressed.connect(self._erase)
        self.found = words("", "second", wrap=True)
        self.found.setAccessibleName(tr("Where they lie"))
        self.trouble = words("", "error", wrap=True)
        self.look = button(tr("Show where they lie"), self._look)
        self.erase = button(tr("Erase for good"), self._erase, "danger")
        self.save = button(tr("Save as…"), self._save)
        self.leave = button(tr("Cancel"), self.reject)
        foot = boxes.row(x=0, y=0)
        foot.addStretch(1)
        for each in (self.leave, self.look, self.save, self.erase):
            foot.addWidget(each)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words(title, "title", wrap=True))
        about = tr(
            "They are taken out of all versions, wherever these lie; everything else of them stays. There is no way "
            "back: undo cannot bring them back."
        )
        column.addWidget(words(about, "second", wrap=True))
        column.addLayout(form)
        column.addWidget(self.found)
        column.addWidget(self.trouble)
        column.addLayout(foot)
        self.trouble.hide()
        self._fit()

    def first(self) -> QWidget | None:
        return self.paths

    @Slot()
    def reject(self) -> None:
        if not self._working:  # what it has begun, it ends
            super().reject()

    def _fit(self) -> None:
        """Offer what can be done now."""
        named, done = bool(self.paths.text().strip()), self.certificate is not None
        meant = self._looked is not None and self._asked() == self._looked and self.proof.text() == self._typed
        for line in (self.paths, self.reason, self.proof):
            line.setEnabled(not self._working and not done)
        self.look.setEnabled(named and not self._working)
        self.look.setVisible(not done)
        self.erase.setEnabled(meant and not self._working)
        self.erase.setVisible(not done)
        self.save.setVisible(done)
        self.leave.setEnabled(not self._working)
        self.leave.setText(tr("Close") if done else tr("Cancel"))
        self._place()

    def _asked(self) -> tuple[Path, ...]:
        """The fields that are typed; () if they cannot be read."""
        try:
            return _paths(self.paths.text())
        except Refused:
            return ()

    def _look(self) -> None:
        if not self.look.isEnabled():
            return
        session, ns, id, said = self._session, self._ns, self._id, self.paths.text()

        def look(_: tasks.Progress) -> tuple[tuple[Path, ...], Found]:
            paths = _paths(said)
            return paths, session.erasing.look(ns, id, paths)

        self._run(look, self._lies, tr("Looking where the fields lie"))

    def _lies(self, seen: tuple[tuple[Path, ...], Found]) -> None:
        paths, (traces, misfits) = seen[0], (seen[1].traces, seen[1].misfits)
        self._working = False
        self._looked = paths if traces else None
        if traces:
            lines = [tr("Would be erased:"), *_lines(traces)]
            if misfits:
                lines += [tr("Hashes that do not fit their contents, and would stay as they are:"), *_lines(misfits)]
            self.found.setText("\n".join(lines))
        else:
            self.found.setText(tr("{name} has none of these fields anywhere.", name=self._name))
        self._fit()
        (self.proof if traces else self.paths).setFocus()

    def _erase(self) -> None:
        if not self.erase.isEnabled() or self._looked is None:
            return
        session, ns, id, paths = self._session, self._ns, self._id, self._looked
        reason = self.reason.text().strip()
        self._run(
            lambda progress: session.erasing.apply(ns, id, paths, progress, confirmed=True, reason=reason),
            self._erased,
            tr("Erasing fields of {name}", name=self._name),
        )

    def _erased(self, done: Certificate) -> None:
        self._working, self.certificate = False, done
        again = sum(each.count for each in done.found)
        lines = [tr("Erased:"), *_lines(done.erased)] if done.erased else [tr("Nothing was there to erase.")]
        if done.left:
            lines += [tr("Hashes that did not fit before, and stay for a scan to tell:"), *_lines(done.left)]
        lines += [tr("Looked for again, also in {files} of this program: {again} found.",
                     files=wording.many(done.looked_through, "file"), again=wording.count(again))]  # fmt: skip
        if done.found:
            lines += [tr("Somebody wrote it back; erase it once more:"), *_lines(done.found)]
        lines += [tr("One of the texts is still in {file}, perhaps of another document.", file=f) for f in done.files]
        lines += [tr("Not reached from here: {places}.", places="; ".join(map(translated, ELSEWHERE)))]
        self.found.setText("\n".join(lines))
        self._fit()
        self.save.setFocus()

    def _save(self) -> None:
        if self.certificate is None:
            return
        kinds = tr("Certificates (*.json)")
        path, _ = QFileDialog.getSaveFileName(self, tr("Save the certificate"), "certificate.json", kinds)
        if path:
            self.save_to(path)

    def save_to(self, path: str) -> None:
        """Write the certificate to a file."""
        assert self.certificate is not None
        written = json.dumps(self.certificate.as_json(), ensure_ascii=False, indent=2) + "\n"
        session = self._session
        tasks.run(
            lambda _: session.repairs.keep_report(path, written),
            done=partial(self._saved, path),
            failed=self._failed,
            owner=self,
        )

    def _saved(self, path: str, _: None) -> None:
        self.trouble.hide()
        messages.tell(self, tr("The certificate is in {path}", path=path))
        self.save.setText(tr("Saved"))

    def _run(self, work: Callable[[tasks.Progress], Any], done: Callable[[Any], None], title: str) -> None:
        self._working = True
        self.trouble.hide()
        self._fit()
        tasks.run(work, done=done, failed=self._failed, cancelled=partial(self._failed, None), owner=self, title=title)

    def _failed(self, error: BaseException | None) -> None:
        self._working, self._looked = False, None
        self.trouble.setText(translated(str(error)) if error is not None else tr("Stopped"))
        self.trouble.show()
        self._fit()
        self.paths.setFocus()


def _paths(said: str) -> tuple[Path, ...]:
    """The paths in a line, separated by commas; raises ``Refused``."""
    return tuple(path_from_text(each.strip()) for each in said.split(",") if each.strip())


def _lines(traces: Sequence[Trace]) -> list[str]:
    return [
        tr("{count} in {where} ({place})", count=wording.count(each.count), where=each.where, place=PLACES[each.place])
        for each in traces
    ]
