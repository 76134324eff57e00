"""The environment of the programs that we start: what they need to run, and no password or setting of ours."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

_ALWAYS = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("LD_LIBRARY_PATH", "DYLD_*"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    *("PROGRAMDATA", "PROGRAMFILES*"),
)
DESKTOP = ("XDG_*", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "KDE_*", "GSETTINGS_*")
"""Further variables for programs of the desktop."""
SSH = ("SSH_*", "KRB5*", "XDG_RUNTIME_DIR")
"""Further variables for ssh: those of agents and tickets."""
PYTHON = ("PYTHON*", "PALIMPSEST_CACHE", "PALIMPSEST_HOME", "PALIMPSEST_DEBUG")
"""Further variables for a process of our own."""


def child_environment(*more: str) -> dict[str, str]:
    """Our variables that every program may have, and those whose names match a pattern in ``more``."""
    patterns = (*_ALWAYS, *more)
    return {
        name: value for name, value in os.environ.items() if any(fnmatchcase(name.upper(), each) for each in patterns)
    }
