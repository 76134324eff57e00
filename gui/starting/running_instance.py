"""How a later start of the program reaches the windows that are already open.

A local socket for this user only, named after the data folder and the display: a start with other ones is a separate
program.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QDir, QObject, Signal

from model.errors import Refused
from model.userdata import folders  # a later start that hands over needs no more of the model

if TYPE_CHECKING:  # loaded later: the window comes first
    from PySide6.QtNetwork import QLocalServer

_PATIENCE = 3000  # milliseconds
_MOST = 100_000  # bytes of a request
_LONGEST = 100  # a socket's path: macOS takes 103 bytes, Linux 107
_DONE = b"done\n"


def door() -> str:
    """The name of the socket, or its path if the system has a folder for sockets."""
    display = [os.environ.get(name, "") for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")]
    name = f"palimpsest-{hashlib.sha256(repr([str(folders.folder()), display]).encode()).hexdigest()[:16]}"
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    path = os.path.join(folder, name)
    return path if os.path.isdir(folder) and len(os.fsencode(path)) <= _LONGEST else name


class RunningInstance(QObject):
    """Listens for later starts. ``asked`` carries what one of them wants opened."""

    asked = Signal(object)  # a dict

    @cached_property
    def _server(self) -> QLocalServer:
        from PySide6.QtNetwork import QLocalServer

        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        server.newConnection.connect(self._come)
        return server

    def listen(self) -> bool:
        """Become the instance that later starts reach; False if there is another one, or no socket can be made."""
        from PySide6.QtNetwork import QLocalServer, QLocalSocket

        name = door()
        probe = QLocalSocket()
        probe.connectToServer(name)
        if probe.waitForConnected(_PATIENCE):
            probe.abort()
            return False  # somebody listens there, and Qt would silently take the place
        QLocalServer.removeServer(name)  # a killed process may have left it
        return self._server.listen(name)

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _come(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.setParent(self)
            socket.readyRead.connect(self._read)
            socket.disconnected.connect(socket.deleteLater)

    def _read(self) -> None:
        from PySide6.QtNetwork import QLocalSocket

        socket = self.sender()
        if not isinstance(socket, QLocalSocket):
            return
        if not socket.canReadLine():
            # Whoever sends without end must not fill the memory.
            if socket.bytesAvailable() > _MOST:
                socket.abort()
            return
        said = bytes(socket.readLine().data())
        # Anything may be written to a socket; only a whole JSON object is a request.
        with contextlib.suppress(ValueError, RecursionError):
            request = json.loads(said)
            if isinstance(request, dict):
                socket.write(_DONE)
                socket.flush()
                self.asked.emit(request)
        socket.disconnectFromServer()


def hand_over(request: Mapping[str, Any]) -> bool:
    """Let a running instance open something; False if there is none, or it belongs to another user."""
    try:
        name = door()
    except Refused:
        return False  # the window reports that
    if os.name == "posix" and not os.path.exists(QDir.temp().absoluteFilePath(name)):  # there the socket is a file
        return False
    from PySide6.QtNetwork import QLocalSocket

    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_PATIENCE):
        return False
    if os.name == "posix":
        try:
            if Path(socket.fullServerName()).stat().st_uid != os.getuid():
                return False  # another user put a socket there to learn addresses
        except OSError:
            return False
    socket.write(json.dumps(dict(request)).encode() + b"\n")
    socket.flush()
    answer = b""
    while not answer.endswith(b"\n") and socket.waitForReadyRead(_PATIENCE):
        answer += bytes(socket.readAll().data())
    return answer == _DONE
