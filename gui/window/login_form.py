"""The fields of a connection for logging in: one set of rows for each way of doing so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from gui.language import tr
from gui.style.states import PlainLabel, words
from gui.window.connect_boxes import change_text, choices, field, form_of, secret_field

if TYPE_CHECKING:
    from model.foundation.address import Address


class Way(Struct, frozen=True):
    """A way of logging in: its rows, and their labels if they differ from the usual ones."""

    name: str  # as in an address; "" leaves it to the server
    said: str
    rows: frozenset[str]
    user: str = tr("&User")
    password: str = tr("&Password")
    source: str = tr("the database of the address, else admin")
    hint: str = ""


_PASSWORD = frozenset(("user", "password", "source"))
WAYS = (
    Way("", tr("As the server prefers"), _PASSWORD),
    Way("SCRAM-SHA-256", tr("Password (SCRAM-SHA-256)"), _PASSWORD),
    Way("SCRAM-SHA-1", tr("Password (SCRAM-SHA-1)"), _PASSWORD),
    Way(
        "PLAIN",
        "LDAP (PLAIN)",
        _PASSWORD,
        source="$external",
        hint=tr("The password is sent unencrypted: use TLS."),
    ),
    Way(
        "MONGODB-X509",
        tr("X.509 certificate"),
        frozenset(("user",)),
        user=tr("&Subject"),
        hint=tr("The certificate and its password stand under TLS. The subject may be left empty."),
    ),
    Way(
        "GSSAPI",
        "Kerberos (GSSAPI)",
        frozenset(("user", "password", "service", "realm", "canonical")),
        user=tr("&Principal"),
        password=tr("Pass&word"),
        hint=tr("Without a password, this computer's ticket is used (kinit)."),
    ),
    Way(
        "MONGODB-AWS",
        "AWS IAM",
        frozenset(("user", "password", "token")),
        user=tr("Access &key"),
        password=tr("Sec&ret key"),
        hint=tr("Left empty, the keys come from the environment or the machine's role."),
    ),
    Way(
        "MONGODB-OIDC",
        "OpenID Connect (OIDC)",
        frozenset(("user", "environment", "resource")),
        user=tr("&User or client"),
        hint=tr("The token comes from the machine that Palimpsest runs on."),
    ),
)
ENVIRONMENTS = (("", tr("choose one")), ("azure", "Azure"), ("gcp", "Google Cloud"), ("k8s", "Kubernetes"))


class LoginForm(QWidget):
    """Shows how an address logs in. ``edited`` carries a person's change to it."""

    edited = Signal(object)  # Callable[[Address], Address]

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.way = choices(tr("Way of logging in"), [(way.name, way.said) for way in WAYS])
        self.user = field("", tr("User"))
        self.password = secret_field(tr("Password"))
        self.source = field("", tr("Database to log in by"))
        self.token = secret_field(tr("Session token"), tr("only with keys for a time"))
        self.service = field("mongodb", tr("Service name"))
        self.realm = field(tr("the user's own"), tr("Service realm"))
        self.canonical = choices(
            tr("Canonical host name"),
            [("", tr("as it is typed")), ("forward", tr("forward")), ("forwardAndReverse", tr("and back"))],
        )
        self.environment = choices(tr("Environment"), ENVIRONMENTS)
        self.resource = field(tr("api://… or the audience"), tr("Resource"))
        self.keep = QCheckBox(tr("Keep passwords in this computer's keyring"))
        self.keep.setChecked(True)
        self._of_address = ""  # the password in the address
        self._hint = words("", "hint", wrap=True)
        self._labels = {name: PlainLabel() for name in ("user", "password")}
        self.form = form_of(self)
        self.form.addRow(tr("&Method"), self.way)
        self._rows: dict[str, QWidget] = {
            "user": self.user,
            "password": self.password,
            "token": self.token,
            "source": self.source,
            "service": self.service,
            "realm": self.realm,
            "canonical": self.canonical,
            "environment": self.environment,
            "resource": self.resource,
        }
        names = {
            "token": tr("Session &token"),
            "source": tr("&Database"),
            "service": tr("&Service"),
            "realm": tr("&Realm"),
            "canonical": tr("&Host name"),
            "environment": tr("&Environment"),
            "resource": tr("&Resource"),
        }
        for name, box in self._rows.items():
            label = self._labels.get(name) or PlainLabel(names[name])
            label.setBuddy(box)
            self.form.addRow(label, box)
        self.form.addRow("", self._hint)
        self.form.addRow("", self.keep)
        self._wire()
        self._fit(WAYS[0])

    def _wire(self) -> None:
        self.way.activated.connect(self._way_chosen)
        self.user.textChanged.connect(self._user_typed)
        self.password.textChanged.connect(self._password_typed)
        self.source.textChanged.connect(partial(self._option, "authSource"))
        for box, name in (
            (self.token, "AWS_SESSION_TOKEN"),
            (self.service, "SERVICE_NAME"),
            (self.realm, "SERVICE_REALM"),
            (self.resource, "TOKEN_RESOURCE"),
        ):
            box.textChanged.connect(partial(self._property, name))
        for choice, name in ((self.canonical, "CANONICALIZE_HOST_NAME"), (self.environment, "ENVIRONMENT")):
            choice.activated.connect(partial(self._chosen, choice, name))

    # --- from the address into the fields

    def fill(self, address: Address) -> None:
        """Show how this address logs in."""
        name = address.mechanism
        if self.way.findData(name) < 0:
            self.way.addItem(name, name)
        self.way.setCurrentIndex(self.way.findData(name))
        self._fit(self._now())
        change_text(self.user, address.user_name)
        if address.user is not None or address.password is not None or self.password.text() == self._of_address:
            change_text(self.password, address.password_text)  # a typed password stays while there is no user
            self._of_address = address.password_text
        change_text(self.source, address.option("authSource"))
        for box, key in (
            (self.token, "AWS_SESSION_TOKEN"),
            (self.service, "SERVICE_NAME"),
            (self.realm, "SERVICE_REALM"),
            (self.resource, "TOKEN_RESOURCE"),
        ):
            change_text(box, address.mechanism_property(key))
        for choice, key in ((self.canonical, "CANONICALIZE_HOST_NAME"), (self.environment, "ENVIRONMENT")):
            value = address.mechanism_property(key)
            if choice.findData(value) < 0:
                choice.addItem(value, value)
            choice.setCurrentIndex(choice.findData(value))

    def _now(self) -> Way:
        name = str(self.way.currentData())
        return next((way for way in WAYS if way.name == name), WAYS[0])

    def _fit(self, way: Way) -> None:
        self._labels["user"].setText(way.user)
        self._labels["password"].setText(way.password)
        self.user.setAccessibleName(way.user.replace("&", ""))
        self.password.setAccessibleName(way.password.replace("&", ""))
        self.source.setPlaceholderText(way.source)
        self._hint.setText(way.hint)
        self.form.setRowVisible(self._hint, bool(way.hint))
        for name, box in self._rows.items():
            self.form.setRowVisible(box, name in way.rows)

    # --- from the fields into the address

    def _edit(self, change: Callable[[Address], Address]) -> None:
        self.edited.emit(change)

    def _way_chosen(self, _: int) -> None:
        way = self._now()

        def change(address: Address) -> Address:
            other = address.with_option("authMechanism", way.name)
            if "source" not in way.rows:
                other = other.with_option("authSource", "")
            if "password" not in way.rows:
                other = other.with_password(None)
            return other.with_tls(True) if way.name == "MONGODB-X509" and not other.uses_tls else other

        self._edit(change)

    def _user_typed(self, name: str) -> None:
        password = self.password.text()
        if not name:
            self._of_address = ""  # another name may follow

        def change(address: Address) -> Address:
            other = address.with_user(name)
            return other.with_password(password) if name and password and address.password is None else other

        self._edit(change)

    def _password_typed(self, password: str) -> None:
        if self.user.text():
            self._edit(lambda address: address.with_password(password or None))

    def _option(self, name: str, value: str) -> None:
        self._edit(lambda address: address.with_option(name, value))

    def _property(self, name: str, value: str) -> None:
        self._edit(lambda address: address.with_mechanism_property(name, value))

    def _chosen(self, box: QComboBox, name: str, _: int) -> None:
        self._property(name, str(box.currentData()))

    def fields(self) -> list[QLineEdit]:
        """The fields in which Return connects."""
        return [box for box in self._rows.values() if isinstance(box, QLineEdit)]
