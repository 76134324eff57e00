"""The connection dialog, and the question for a password. Errors are shown in it, and its fields stay as typed."""

from __future__ import annotations

import os
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gui import tasks
from gui.language import tr
from gui.style import boxes, theme
from gui.style.scrolling import Scrolling
from gui.style.sheet import Sheet
from gui.style.states import BusyLine, PlainLabel, button, hair, words
from gui.window.address_field import AddressField
from gui.window.connect_boxes import align, change_text, choices, field, file_box, form_of, in_lines, secret_field
from gui.window.login_form import LoginForm
from gui.window.opening import Opening, trouble_with
from gui.window.step_list import StepList
from gui.window.tls_form import TlsForm
from model.errors import Refused
from model.foundation.address import Address
from model.foundation.records import ConnectionStep
from model.session.sources import try_source

WIDTH, LINE = 600, 280  # u; in a narrower dialog the text of its tick boxes is broken into lines of this length


class _Parts(QStackedWidget):
    """The parts with fields, as high as the highest: a stack itself only asks those with wrapping text.

    If that does not fit, it is as high as the visible part, and only such a part scrolls.
    """

    is_low = False

    def sizeHint(self) -> QSize:
        wanted = super().sizeHint()
        return QSize(wanted.width(), self.minimumSizeHint().height()) if self.is_low else wanted

    def hasHeightForWidth(self) -> bool:
        return False

    def heightForWidth(self, width: int) -> int:
        """The height of the visible part, which a scroll area asks for."""
        shown = self.currentWidget()
        layout = shown.layout() if shown is not None else None
        if shown is None or layout is None or not layout.hasHeightForWidth():
            return shown.minimumSizeHint().height() if shown is not None else 0
        return layout.totalMinimumHeightForWidth(width)

    def minimumSizeHint(self) -> QSize:
        widest = super().minimumSizeHint().width()
        return QSize(widest, self.heightForWidth(max(self.width(), widest)))


ORDER = "uuidRepresentation"
UUIDS = (
    ("", tr("as their bytes tell")),
    ("javaLegacy", tr("as of the old Java driver")),
    ("csharpLegacy", tr("as of the old .NET driver")),
    ("pythonLegacy", tr("as of the old Python driver")),
)
"""The orders of bytes of UUIDs in Binary subtype 3, as an address names them."""


class ConnectDialog(Sheet):
    """A connection as an address and as fields: two views of one state.

    ``agreed`` carries an Opening; the dialog stays open until that has worked.
    """

    agreed = Signal(object)
    stop_asked = Signal(object)

    def __init__(self, parent: QWidget, opening: Opening | None = None) -> None:
        super().__init__(parent, WIDTH)
        self.setAccessibleName(tr("Connect"))
        self._opening: Opening | None = None
        self._replaces = ""
        self.uri = AddressField(tr("Address"))
        self.uri.setPlaceholderText("mongodb://host:27017/")
        self.name = field(tr("left empty: the host"), tr("Name"))
        self.profile = field(tr("none: layouts are recognised"), tr("Profile"))
        self.uuids = choices(tr("Order of old UUIDs"), UUIDS)
        self.uuids.activated.connect(self._order_chosen)
        self.read_only = QCheckBox(tr("Read-only: nothing can be written"))
        self.production = QCheckBox(tr("Production: deleting asks for the name to be typed"))
        self.login, self.tls = LoginForm(), TlsForm()
        self.ssh = field(tr("user@bastion, or a name of ~/.ssh/config"), tr("Through"))
        self.ssh.textChanged.connect(self._ssh_typed)
        self.trouble = words("", "error", wrap=True)
        self.trouble.hide()
        self.busy = BusyLine()
        self.busy.hide()
        self.steps = StepList()
        self._follows = False  # whether the answer stays in sight as it grows, until a person scrolls
        self.test = button(tr("Test"), self._try)
        self.go = button(tr("Connect"), self._agree, "main")
        self._trial: tasks.Task | None = None
        self._build()
        self.uri.changed.connect(self._typed)
        for form in (self.login, self.tls):
            form.edited.connect(self._edited)
        for box in (self.uri, self.name, self.profile, self.ssh, *self.login.fields(), *self.tls.fields()):
            box.returnPressed.connect(self.go.click)
        if opening is not None:
            self._put(opening)

    def _build(self) -> None:
        is_narrow = self.room < theme.px(WIDTH)
        ticks = [
            self.read_only,
            self.production,
            *self.login.findChildren(QCheckBox),
            *self.tls.findChildren(QCheckBox),
        ]
        for box in ticks if is_narrow else ():
            box.setText(in_lines(box, theme.px(LINE)))
        top = QWidget()
        form = form_of(top)
        form.addRow(tr("&Address"), self.uri)
        server = QWidget()
        marks = form_of(server)
        marks.addRow(tr("&Name"), self.name)
        marks.addRow(tr("Pro&file"), file_box(self.profile, tr("Choose the profile that states its layouts")))
        marks.addRow(tr("O&ld UUIDs"), self.uuids)
        marks.addRow(tr("Writing"), self.read_only)
        marks.addRow("", self.production)
        parts, self.parts = boxes.segments(self, (tr("Server"), tr("Login"), "TLS", "SSH"), tr("{} of the connection"))
        parts.addStretch(1)
        self._stack = _Parts()
        tunnel = QWidget()
        through = form_of(tunnel)
        through.addRow(tr("T&hrough"), self.ssh)
        hint = tr(
            "The system's own ssh is used, with its configuration, agent and jump hosts; it must log "
            "in without a prompt."
        )
        through.addRow("", words(hint, "hint", wrap=True))
        for page in (server, self.login, self.tls, tunnel):
            upright = QWidget()
            column = boxes.column(upright)
            column.addWidget(page)
            column.addStretch(1)
            self._stack.addWidget(upright)
        self.parts.idClicked.connect(self._part_chosen)
        self.parts.idClicked.connect(self._let_go)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self.inset,) * 4)
        column.setSpacing(theme.px(12))
        column.addWidget(words(tr("Connect"), "title"))
        column.addWidget(top)
        column.addLayout(parts)
        answered = QWidget()
        inner = boxes.column(answered)
        inner.setSpacing(theme.px(12))
        inner.addWidget(self._stack)
        inner.addWidget(self.trouble)
        inner.addWidget(self.steps)
        inner.addStretch(1)
        self._area = Scrolling(answered)
        bar = self._area.verticalScrollBar()
        bar.rangeChanged.connect(self._scroll_to_answer)  # its lines may wrap later
        bar.actionTriggered.connect(self._let_go)
        column.addWidget(self._area)
        column.addWidget(self.busy)
        column.addWidget(hair())
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addWidget(self.test)
        row.addStretch(1)
        row.addWidget(button(tr("Cancel"), self.reject))
        row.addWidget(self.go)
        column.addLayout(row)

    def _part_chosen(self, at: int) -> None:
        self._stack.setCurrentIndex(at)
        self._stack.updateGeometry()
        self._place()

    def _place(self) -> None:
        for box in self._stack.findChildren(QWidget):
            box.ensurePolished()  # fields never shown would report a smaller height
        align(self.findChildren(QFormLayout))
        for is_low in (False, True):
            self._stack.is_low = is_low
            self._stack.updateGeometry()
            self._area.updateGeometry()
            super()._place()
            if not self._area.is_cut:
                break

    def _show_answer(self) -> None:
        """Fit to the answer, and scroll to it if not everything fits."""
        self._place()
        self._follows = True
        QTimer.singleShot(0, self, self._scroll_to_answer)  # once it is in place

    def _scroll_to_answer(self, *_: int) -> None:
        if self._follows:
            bar = self._area.verticalScrollBar()
            bar.setValue(bar.maximum())

    def _let_go(self, *_: int) -> None:
        self._follows = False

    def show_part(self, name: str) -> None:
        """Show one of the parts: Server, Login, TLS."""
        for shown in self.parts.buttons():
            if shown.text() == name:
                shown.click()

    def first(self) -> QWidget | None:
        return self.uri

    # --- between address, fields and the opening

    def _put(self, opening: Opening) -> None:
        self.uri.put(opening.source)
        self._fill()
        self._replaces = opening.replaces
        self.name.setText(opening.name)
        self.profile.setText(opening.profile)
        self.read_only.setChecked(opening.read_only)
        self.production.setChecked(opening.production)

    def _typed(self) -> None:
        self._forget_answers()
        self._fill()
        self._place()

    def _fill(self) -> None:
        if (address := self.uri.address) is not None:
            self.login.fill(address)
            self.tls.fill(address)
            change_text(self.ssh, address.option("ssh"))
            order = address.option(ORDER)
            self.uuids.setCurrentIndex(max(0, self.uuids.findData(order, flags=Qt.MatchFlag.MatchFixedString)))
            self._place()

    def _edited(self, change: Callable[[Address], Address]) -> None:
        address = self.uri.address or (Address.parse("mongodb://") if not self.uri.text().strip() else None)
        if address is not None:
            self.uri.put(str(change(address)))
            self._forget_answers()
            self._fill()

    def _ssh_typed(self, through: str) -> None:
        self._edited(lambda address: address.with_option("ssh", through.strip()))

    def _order_chosen(self) -> None:
        self._edited(lambda address: address.with_option(ORDER, str(self.uuids.currentData())))

    def opening(self) -> Opening:
        """The opening for the address and the fields; raises ``Refused`` if they are invalid."""
        self.uri.cover()
        source = self.uri.source
        if trouble := trouble_with(source):
            raise Refused(trouble)
        if self.uri.address is not None and self.login.password.text() and not self.uri.address.user:
            raise Refused(tr("The password has no user; type the user's name beside it."))
        return Opening(
            source,
            self.name.text().strip(),
            self.read_only.isChecked(),
            self.production.isChecked(),
            keep_password=self.login.keep.isChecked(),
            replaces=self._replaces,
            profile=os.path.abspath(os.path.expanduser(profile)) if (profile := self.profile.text().strip()) else "",
        )

    def _forget_answers(self) -> None:
        """Drop the answers about another address."""
        if self._trial is not None:
            self._trial.drop()
            self._trial = None
            self.idle()
        self._follows = False
        self.trouble.hide()
        self.steps.clear()

    # --- testing

    def _try(self) -> None:
        self._forget_answers()
        try:
            source = self.opening().source
        except Refused as error:
            self.fail(error)
            return
        self._wait(tr("Trying {title}", title=Opening(source).title), self._stop_trying)

        def try_steps(progress: tasks.Progress) -> None:
            for step in try_source(source):
                progress.put(step)

        self._trial = tasks.run(
            try_steps,
            partial=self._tried,
            done=self._trial_over,
            failed=self.fail,
            cancelled=self._trial_over,
            owner=self,
        )

    def _tried(self, step: ConnectionStep) -> None:
        self.steps.add(step)
        self._show_answer()

    def _trial_over(self, _: object = None) -> None:
        self._trial = None
        self.idle()

    def _stop_trying(self) -> None:
        if self._trial is not None:
            self._trial.drop()
        self._trial_over()

    # --- connecting

    def _wait(self, title: str, stop: Callable[[], object]) -> None:
        self.go.setEnabled(False)
        self.test.setEnabled(False)
        self.busy.begin(title, stop)
        self.busy.show()
        self._place()

    def _agree(self) -> None:
        self._forget_answers()
        try:
            self._opening = self.opening()
        except Refused as error:
            self.fail(error)
            return
        self._wait(tr("Connecting to {title}", title=self._opening.title), self._stop)
        self.agreed.emit(self._opening)

    def _stop(self) -> None:
        if self._opening is not None:
            self.stop_asked.emit(self._opening)
        self.idle()

    def idle(self) -> None:
        """Make the fields usable again: nothing is being connected any longer."""
        self.busy.hide()
        self.go.setEnabled(True)
        self.test.setEnabled(True)
        self._place()

    def fail(self, error: BaseException) -> None:
        """Say below the fields why it did not work."""
        self._trial = None
        self.idle()
        self.trouble.setText(tasks.describe(error)[0])
        self.trouble.show()
        self.uri.setFocus()
        self._show_answer()

    def reject(self) -> None:
        if self._trial is not None:
            self._trial.drop()
        if self._opening is not None and not self.busy.isHidden():
            self.stop_asked.emit(self._opening)
        super().reject()


class PasswordPrompt(Sheet):
    """Asks for the password of the user in a URI; it goes to the keyring or nowhere."""

    agreed = Signal(str, bool)

    def __init__(self, parent: QWidget, opening: Opening, why: str = "") -> None:
        super().__init__(parent, 440)
        self.setAccessibleName(tr("Password"))
        self.password = secret_field(tr("Password"))
        self.password.returnPressed.connect(self._agree)
        self.keep = QCheckBox(tr("Keep it in this computer's keyring"))
        self.keep.setChecked(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        column.addWidget(words(tr("Password for {title}", title=opening.title), "title", wrap=True))
        column.addWidget(words(opening.shown, "second", wrap=True))
        if why:
            column.addWidget(words(why, "error", wrap=True))
        label = PlainLabel(tr("Password"))
        label.setBuddy(self.password)
        column.addWidget(label)
        column.addWidget(self.password)
        column.addWidget(self.keep)
        column.addSpacing(theme.px(12))
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addStretch(1)
        row.addWidget(button(tr("Cancel"), self.reject))
        row.addWidget(button(tr("Connect"), self._agree, "main"))
        column.addLayout(row)

    def first(self) -> QWidget | None:
        return self.password

    def _agree(self) -> None:
        if self.password.text():
            self.accept()
            self.agreed.emit(self.password.text(), self.keep.isChecked())
