"""The fields of a connection for TLS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from gui.language import tr
from gui.window.connect_boxes import change_text, field, file_box, form_of, secret_field

if TYPE_CHECKING:
    from model.foundation.address import Address


class TlsForm(QWidget):
    """Shows how a connection is encrypted. ``edited`` carries a person's change to its address."""

    edited = Signal(object)  # Callable[[Address], Address]

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tls = QCheckBox(tr("Use &TLS"))
        self.ca = field(tr("the system's certificates"), tr("Certificate authority file"))
        self.client = field(tr("no certificate"), tr("Client certificate and key file"))
        self.key_password = secret_field(tr("Password of the client's key"))
        self.any_host = QCheckBox(tr("Accept a certificate for another host name (unsafe)"))
        self.unverified = QCheckBox(tr("Do not verify the certificate (unsafe)"))
        self._boxes = [
            file_box(self.ca, tr("Choose the authority's file")),
            file_box(self.client, tr("Choose the client certificate")),
        ]
        form = form_of(self)
        form.addRow("", self.tls)
        form.addRow(tr("Authorit&y"), self._boxes[0])
        form.addRow(tr("&Certificate"), self._boxes[1])
        form.addRow(tr("&Key password"), self.key_password)
        form.addRow("", self.any_host)
        form.addRow("", self.unverified)
        self.tls.toggled.connect(self._toggled)
        for box, name in (
            (self.ca, "tlsCAFile"),
            (self.client, "tlsCertificateKeyFile"),
            (self.key_password, "tlsCertificateKeyFilePassword"),
        ):
            box.textChanged.connect(partial(self._option, name))
        self.any_host.toggled.connect(partial(self._flag, "tlsAllowInvalidHostnames"))
        self.unverified.toggled.connect(partial(self._flag, "tlsAllowInvalidCertificates"))
        self._fit(False)

    def fill(self, address: Address) -> None:
        """Show how this address is encrypted."""
        insecure = address.option("tlsInsecure") == "true"
        for box, on in (
            (self.tls, address.uses_tls),
            (self.any_host, insecure or address.option("tlsAllowInvalidHostnames") == "true"),
            (self.unverified, insecure or address.option("tlsAllowInvalidCertificates") == "true"),
        ):
            blocker = QSignalBlocker(box)
            box.setChecked(on)
            blocker.unblock()
        change_text(self.ca, address.option("tlsCAFile"))
        change_text(self.client, address.option("tlsCertificateKeyFile"))
        change_text(self.key_password, address.option("tlsCertificateKeyFilePassword"))
        self._fit(address.uses_tls)

    def _fit(self, on: bool) -> None:
        for box in (*self._boxes, self.key_password, self.any_host, self.unverified):
            box.setEnabled(on)

    def _edit(self, change: Callable[[Address], Address]) -> None:
        self.edited.emit(change)

    def _toggled(self, on: bool) -> None:
        self._edit(lambda address: address.with_tls(on))

    def _option(self, name: str, value: str) -> None:
        self._edit(lambda address: address.with_option(name, value.strip()))

    def _flag(self, name: str, on: bool) -> None:
        def change(address: Address) -> Address:
            other = address
            if address.option("tlsInsecure"):  # the driver refuses it together with the two options that it stands for
                both = "tlsAllowInvalidHostnames", "tlsAllowInvalidCertificates"
                other = other.with_option("tlsInsecure", "")
                for each in both:
                    other = other.with_option(each, address.option("tlsInsecure"))
            return other.with_option(name, "true" if on else "")

        self._edit(change)

    def fields(self) -> list[QLineEdit]:
        """The fields in which Return connects."""
        return [self.ca, self.client, self.key_password]
