"""Imports PyMongo without parts of it and of Python that nobody here uses: these take a fifth of its time.

They are loaded once somebody asks for them: PyMongo's asynchronous client with asyncio, and modules of Python that
PyMongo needs for error messages alone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from model.foundation.late_module import LateModule

_LATE = {
    "importlib.metadata": ("requires", "version"),
    "difflib": ("get_close_matches",),
    "asyncio": ("wait_for",),
}
"""Modules, and the functions that PyMongo takes from them when it is imported."""
_ASYNCHRONOUS = "pymongo.asynchronous.mongo_client"
_ANNOTATIONS = ("AbstractEventLoop", "BaseTransport", "Future", "Transport")


class _BufferedProtocol:
    """Stands for a class of asyncio from which PyMongo derives one of its own."""

    __slots__ = ()


_STAND_INS: dict[str, dict[str, object]] = {
    "asyncio": {
        **dict.fromkeys(_ANNOTATIONS, object),
        "BufferedProtocol": _BufferedProtocol,
        "events": LateModule("asyncio.events"),
        "exceptions": LateModule("asyncio.exceptions"),
    }
}
"""What else PyMongo takes from them then, and uses in its asynchronous half alone."""
_loading = threading.RLock()
_begun: list[ModuleType] = []
"""Modules that are being loaded."""


def bring() -> None:
    """Import PyMongo; does nothing if somebody has done so already."""
    if "pymongo" in sys.modules:
        return
    for name, functions in _LATE.items():
        _put_off(name, functions)
    try:
        with _without_its_asynchronous_half():
            import pymongo
    except ImportError:  # of a release that imports more of that half: it is imported as it is
        _bring_asyncio()
        return
    finally:
        for name in _STAND_INS:  # who imports anything from it wants all of it from now on
            if isinstance(module := sys.modules.get(name), _Late):
                vars(module).pop("__path__", None)
    del pymongo.AsyncMongoClient
    vars(pymongo)["__getattr__"] = _of_the_other_half


@contextlib.contextmanager
def _without_its_asynchronous_half() -> Iterator[None]:
    stands_in = ModuleType(_ASYNCHRONOUS)
    vars(stands_in)["AsyncMongoClient"] = object
    sys.modules[_ASYNCHRONOUS] = stands_in
    try:
        yield
    finally:
        del sys.modules[_ASYNCHRONOUS]


def _of_the_other_half(name: str) -> object:
    if name == "AsyncMongoClient":
        _bring_asyncio()
        return importlib.import_module(_ASYNCHRONOUS).AsyncMongoClient
    raise AttributeError(name)


def _bring_asyncio() -> None:
    """Load asyncio, and derive from its class what was derived from the one that stood for it."""
    _load(asyncio := sys.modules["asyncio"])
    protocol = getattr(sys.modules.get("pymongo.network_layer"), "PyMongoProtocol", None)
    if protocol is not None and protocol.__bases__ == (_BufferedProtocol,):
        protocol.__bases__ = (vars(asyncio)["BufferedProtocol"],)


class _Late(ModuleType):
    """A module that is loaded in its place when a name in it is asked for."""

    def __getattr__(self, name: str) -> Any:
        # By its path Python asks for a module inside, or for names.
        if not name.startswith("__") or name == "__all__" or (name == "__path__" and self.__name__ in _STAND_INS):
            _load(self)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(name) from None


def _put_off(name: str, functions: tuple[str, ...]) -> None:
    """Put a module that is not loaded yet into its place; a call of these functions loads it, too."""
    if name in sys.modules or (spec := importlib.util.find_spec(name)) is None:
        return
    module = importlib.util.module_from_spec(spec)
    setattr(module, "__class__", _Late)  # noqa: B010
    vars(module).update({function: _called_late(module, function) for function in functions})
    vars(module).update(_STAND_INS.get(name, {}))
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)


def _called_late(module: ModuleType, function: str) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        _load(module)
        return vars(module)[function](*given, **named)

    return call


def _load(module: ModuleType) -> None:
    with _loading:  # its own code may ask for names in it while it is loaded
        if not isinstance(module, _Late) or module in _begun:
            return
        assert module.__spec__ is not None
        assert module.__spec__.loader is not None
        _begun.append(module)
        for name in _STAND_INS.get(module.__name__, ()):  # else its own code takes them for its own
            vars(module).pop(name, None)
        if (path := module.__spec__.submodule_search_locations) is not None:
            module.__path__ = path
        try:
            module.__spec__.loader.exec_module(module)
            setattr(module, "__class__", ModuleType)  # noqa: B010
        finally:
            _begun.remove(module)
