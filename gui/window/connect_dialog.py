"""The connection dialog, and the question for a password. Errors are said in it, and its fields stay as typed."""

from __future__ import annotations

import os

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from gui import tasks
from gui.style import theme
from gui.style.sheet import Sheet
from gui.style.states import BusyLine, button, hair, words
from gui.window.opening import Opening, completed, trouble_with
from model.errors import Refused
from model.session import options_of, with_options, with_user


class ConnectDialog(Sheet):
    """The fields of a connection. ``agreed`` carries an Opening; the dialog stays until that has worked."""

    agreed = Signal(object)
    stop_asked = Signal(object)

    def __init__(self, parent: QWidget, opening: Opening | None = None) -> None:
        super().__init__(parent, 560)
        self.setAccessibleName("Connect")
        self._opening: Opening | None = None
        self.uri = _field("mongodb://host:27017/", "Address", mono=True)
        self.name = _field("left empty: the host", "Name")
        self.user = _field("", "User")
        self.password = _field("", "Password")
        self.password.setEchoMode(QLineEdit.EchoMode.Password)
        self.keep = QCheckBox("Keep the password in this computer's keyring")
        self.keep.setChecked(True)
        self.tls = QCheckBox("Use TLS")
        self.ca = _field("the system's certificates", "Certificate authority file")
        self.client = _field("none", "Client certificate file")
        self.unverified = QCheckBox("Do not verify the certificate (unsafe)")
        self.profile = _field("none: layouts are recognised", "Profile")
        self.read_only = QCheckBox("Read-only: nothing can be written")
        self.production = QCheckBox("Production: deleting asks for the name to be typed")
        self.trouble = words("", "error", wrap=True)
        self.trouble.hide()
        self.busy = BusyLine()
        self.busy.hide()
        self.go = button("Connect", self._agree, "main")
        self._build()
        self.tls.toggled.connect(self._tls_changed)
        self._tls_changed(False)
        self._was_srv = False
        self.uri.textChanged.connect(self._typed)
        for field in (self.uri, self.name, self.user, self.password, self.ca, self.client, self.profile):
            field.returnPressed.connect(self.go.click)
        if opening is not None:
            self._put(opening)

    def _build(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(8))
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for label, field in (("&Address", self.uri), ("&Name", self.name), ("&User", self.user)):
            form.addRow(label, field)
        form.addRow("&Password", self.password)
        form.addRow("", self.keep)
        form.addRow("TLS", self.tls)
        form.addRow("Authority", self._file(self.ca, "Choose the authority's file"))
        form.addRow("Certificate", self._file(self.client, "Choose the client certificate"))
        form.addRow("", self.unverified)
        form.addRow("Pro&file", self._file(self.profile, "Choose the profile that states its layouts"))
        form.addRow("Writing", self.read_only)
        form.addRow("", self.production)
        self._tls_rows = [self.ca, self.client, self.unverified]
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(12))
        column.addWidget(words("Connect", "title"))
        column.addLayout(form)
        column.addWidget(self.trouble)
        column.addWidget(self.busy)
        column.addWidget(hair())
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addStretch(1)
        row.addWidget(button("Cancel", self.reject))
        row.addWidget(self.go)
        column.addLayout(row)

    def _file(self, field: QLineEdit, title: str) -> QWidget:
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(8))
        row.addWidget(field, 1)
        pick = button("Choose…", None, icon="")

        def choose() -> None:
            path, _ = QFileDialog.getOpenFileName(self, title)
            if path:
                field.setText(path)

        pick.clicked.connect(choose)
        row.addWidget(pick)
        field.setProperty("picker", pick)
        return box

    def first(self) -> QWidget | None:
        return self.uri

    # --- between fields and the opening

    def _put(self, opening: Opening) -> None:
        self.uri.setText(opening.source)  # ticks TLS where such an address means it
        self.name.setText(opening.name)
        self.profile.setText(opening.profile)
        self.read_only.setChecked(opening.read_only)
        self.production.setChecked(opening.production)
        options = {name.lower(): value for name, value in options_of(opening.source).items()}
        self.tls.setChecked(options.get("tls", options.get("ssl", "true" if self._was_srv else "")) == "true")
        self.ca.setText(options.get("tlscafile", ""))
        self.client.setText(options.get("tlscertificatekeyfile", ""))
        self.unverified.setChecked(options.get("tlsallowinvalidcertificates", "") == "true")

    def opening(self) -> Opening:
        """The opening that the fields describe; raises ``Refused`` where they describe none."""
        trouble = trouble_with(self.uri.text())
        if trouble:
            raise Refused(trouble)
        source = completed(self.uri.text())
        user = self.user.text().strip()
        password = self.password.text()
        if user:
            source = with_user(source, user)
        elif password and "@" not in source:
            raise Refused("The password has no user; type the user's name beside it.")
        options = {
            "tls": "true" if self.tls.isChecked() else "",
            "tlsCAFile": self.ca.text().strip() if self.tls.isChecked() else "",
            "tlsCertificateKeyFile": self.client.text().strip() if self.tls.isChecked() else "",
            "tlsAllowInvalidCertificates": "true" if self.tls.isChecked() and self.unverified.isChecked() else "",
        }
        if _by_itself(source):
            options["tls"] = "" if self.tls.isChecked() else "false"
        return Opening(
            with_options(source, options),
            self.name.text().strip(),
            self.read_only.isChecked(),
            self.production.isChecked(),
            password or None,
            self.keep.isChecked(),
            profile=os.path.abspath(os.path.expanduser(profile)) if (profile := self.profile.text().strip()) else "",
        )

    def _typed(self, now: str) -> None:
        srv, was = _by_itself(now.strip()), self._was_srv
        self._was_srv = srv
        if srv and not was:
            self.tls.setChecked(True)
        self.trouble.hide()
        self._place()

    def _tls_changed(self, on: bool) -> None:
        for field in self._tls_rows:
            field.setEnabled(on)
            pick = field.property("picker")
            if isinstance(pick, QWidget):
                pick.setEnabled(on)

    def _agree(self) -> None:
        try:
            self._opening = self.opening()
        except Refused as error:
            self.fail(error)
            return
        self.trouble.hide()
        self.go.setEnabled(False)
        self.busy.begin(f"Connecting to {self._opening.title}", self._stop)
        self.busy.show()
        self._place()
        self.agreed.emit(self._opening)

    def _stop(self) -> None:
        if self._opening is not None:
            self.stop_asked.emit(self._opening)
        self.idle()

    def idle(self) -> None:
        """Let the fields be used again: nothing is being connected any more."""
        self.busy.hide()
        self.go.setEnabled(True)
        self._place()

    def fail(self, error: BaseException) -> None:
        """Say below the fields why it did not work."""
        self.idle()
        self.trouble.setText(tasks.describe(error)[0])
        self.trouble.show()
        self._place()
        self.uri.setFocus()

    def reject(self) -> None:
        if self._opening is not None and not self.busy.isHidden():
            self.stop_asked.emit(self._opening)
        super().reject()


class PasswordPrompt(Sheet):
    """Asks for the password of a user that a URI names; it goes to the keyring or nowhere."""

    agreed = Signal(str, bool)

    def __init__(self, parent: QWidget, opening: Opening) -> None:
        super().__init__(parent, 440)
        self.setAccessibleName("Password")
        self.password = _field("", "Password")
        self.password.setEchoMode(QLineEdit.EchoMode.Password)
        self.password.returnPressed.connect(self._agree)
        self.keep = QCheckBox("Keep it in this computer's keyring")
        self.keep.setChecked(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        column.setSpacing(theme.px(8))
        column.addWidget(words(f"Password for {opening.title}", "title", wrap=True))
        column.addWidget(words(opening.shown, "second", wrap=True))
        label = QLabel("Password")
        label.setBuddy(self.password)
        column.addWidget(label)
        column.addWidget(self.password)
        column.addWidget(self.keep)
        column.addSpacing(theme.px(12))
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addStretch(1)
        row.addWidget(button("Cancel", self.reject))
        row.addWidget(button("Connect", self._agree, "main"))
        column.addLayout(row)

    def first(self) -> QWidget | None:
        return self.password

    def _agree(self) -> None:
        if self.password.text():
            self.accept()
            self.agreed.emit(self.password.text(), self.keep.isChecked())


def _by_itself(uri: str) -> bool:
    """Whether an address means TLS without saying so."""
    return uri.startswith("mongodb+srv://")


def _field(example: str, name: str, mono: bool = False) -> QLineEdit:
    made = QLineEdit()
    made.setPlaceholderText(example)
    made.setAccessibleName(name)
    if mono:
        made.setProperty("mono", True)
    return made
