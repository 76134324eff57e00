"""A display of its own (Xvfb), watched and driven through Xlib from outside the programs that draw on it.

Windows are asked by ``_NET_WM_PING`` whether they still answer, as by a window manager: the toolkit replies in the
thread that draws.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterable
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_long, c_uint, c_ulong, c_void_p
from dataclasses import dataclass
from types import TracebackType

WIDTH, HEIGHT = 1440, 900
_CLIENT_MESSAGE, _NOTIFY, _Z_PIXMAP = 33, 1 << 17 | 1 << 19, 2
_MAPPED = 2
_PATIENCE = 60  # seconds
EVERY = 0.02  # seconds between two questions


class _ClientMessage(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("serial", c_ulong),
        ("send_event", c_int),
        ("display", c_void_p),
        ("window", c_ulong),
        ("message_type", c_ulong),
        ("format", c_int),
        ("data", c_long * 5),
    )


class _Event(ctypes.Union):
    _fields_ = (("type", c_int), ("client", _ClientMessage), ("room", c_long * 24))


class _Image(ctypes.Structure):
    _fields_ = (
        ("width", c_int),
        ("height", c_int),
        ("xoffset", c_int),
        ("format", c_int),
        ("data", POINTER(c_char)),
        ("byte_order", c_int),
        ("bitmap_unit", c_int),
        ("bitmap_bit_order", c_int),
        ("bitmap_pad", c_int),
        ("depth", c_int),
        ("bytes_per_line", c_int),
    )


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("x", c_int),
        ("y", c_int),
        ("width", c_int),
        ("height", c_int),
        ("border_width", c_int),
        ("depth", c_int),
        ("visual", c_void_p),
        ("root", c_ulong),
        ("window_class", c_int),
        ("gravities", c_int * 3),
        ("planes", c_ulong * 2),
        ("save_under", c_int),
        ("colormap", c_ulong),
        ("map_installed", c_int),
        ("map_state", c_int),
        ("masks", c_long * 3),
        ("override_redirect", c_int),
        ("screen", c_void_p),
    )


@dataclass(frozen=True)
class Silence:
    """Seconds until a window answered, and how many of them its process worked, in all its threads."""

    seconds: float
    worked: float


def worked(pid: int) -> float:
    """The processor seconds of a process up to now; Linux makes the number of its clock like this."""
    return time.clock_gettime(~pid << 3 | 2)


class XDisplay:
    """The server and a connection to it; use it as a context manager."""

    def __enter__(self) -> XDisplay:
        theirs, ours = os.pipe()
        screen = ("-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp")
        self._server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(ours), *screen], pass_fds=[ours], stderr=subprocess.DEVNULL
        )
        os.close(ours)
        with os.fdopen(theirs) as told:
            self.name = f":{int(told.readline())}"
        self._x, self._test = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
        x = self._x
        x.XOpenDisplay.argtypes, x.XOpenDisplay.restype = [c_char_p], c_void_p
        x.XDefaultRootWindow.argtypes, x.XDefaultRootWindow.restype = [c_void_p], c_ulong
        x.XInternAtom.argtypes, x.XInternAtom.restype = [c_void_p, c_char_p, c_int], c_ulong
        x.XSelectInput.argtypes = [c_void_p, c_ulong, c_long]
        x.XSendEvent.argtypes = [c_void_p, c_ulong, c_int, c_long, POINTER(_Event)]
        x.XPending.argtypes = x.XFlush.argtypes = [c_void_p]
        x.XNextEvent.argtypes = [c_void_p, POINTER(_Event)]
        x.XGetImage.argtypes = [c_void_p, c_ulong, c_int, c_int, c_uint, c_uint, c_ulong, c_int]
        x.XGetImage.restype = POINTER(_Image)
        x.XDestroyImage.argtypes = [POINTER(_Image)]
        x.XQueryTree.argtypes = [
            c_void_p, c_ulong, POINTER(c_ulong), POINTER(c_ulong), POINTER(POINTER(c_ulong)), POINTER(c_uint)
        ]  # fmt: skip
        x.XFree.argtypes = [c_void_p]
        x.XGetWindowAttributes.argtypes = [c_void_p, c_ulong, POINTER(_Attributes)]
        x.XSetInputFocus.argtypes = [c_void_p, c_ulong, c_int, c_ulong]
        x.XResizeWindow.argtypes = [c_void_p, c_ulong, c_uint, c_uint]
        x.XStringToKeysym.argtypes, x.XStringToKeysym.restype = [c_char_p], c_ulong
        x.XKeysymToKeycode.argtypes, x.XKeysymToKeycode.restype = [c_void_p, c_ulong], c_uint
        self._test.XTestFakeKeyEvent.argtypes = [c_void_p, c_uint, c_int, c_ulong]
        self._test.XTestFakeButtonEvent.argtypes = [c_void_p, c_uint, c_int, c_ulong]
        self._test.XTestFakeMotionEvent.argtypes = [c_void_p, c_int, c_int, c_int, c_ulong]
        self._quiet = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)(lambda *_: 0)  # a window that has gone
        x.XSetErrorHandler(self._quiet)
        self._display = x.XOpenDisplay(self.name.encode())
        self._root = x.XDefaultRootWindow(self._display)
        self._protocols, self._ping = (
            x.XInternAtom(self._display, name, 0) for name in (b"WM_PROTOCOLS", b"_NET_WM_PING")
        )
        x.XSelectInput(self._display, self._root, _NOTIFY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._x.XCloseDisplay(c_void_p(self._display))
        self._server.terminate()
        self._server.wait()

    def window(self) -> int:
        """The largest window that is mapped; 0 where there is none."""
        root, parent, count = c_ulong(), c_ulong(), c_uint()
        found = POINTER(c_ulong)()
        self._x.XQueryTree(self._display, self._root, byref(root), byref(parent), byref(found), byref(count))
        best, most = 0, 300 * 200
        for at in range(count.value):
            told = _Attributes()
            self._x.XGetWindowAttributes(self._display, found[at], byref(told))
            if told.map_state == _MAPPED and told.width * told.height > most:
                best, most = found[at], told.width * told.height
        if count.value:
            self._x.XFree(found)
        return best

    def picture(self) -> bytes:
        """The pixels of the screen."""
        image = self._x.XGetImage(self._display, self._root, 0, 0, WIDTH, HEIGHT, c_ulong(-1), _Z_PIXMAP)
        found = ctypes.string_at(image.contents.data, image.contents.bytes_per_line * HEIGHT)
        self._x.XDestroyImage(image)
        return found

    def ask(self, window: int, number: int) -> None:
        """Ask a window whether it answers."""
        event = _Event()
        event.client.type, event.client.window, event.client.format = _CLIENT_MESSAGE, window, 32
        event.client.message_type = self._protocols
        event.client.data[0], event.client.data[1], event.client.data[2] = self._ping, number, window
        self._x.XSendEvent(self._display, window, 0, 0, byref(event))
        self._x.XFlush(self._display)

    def answered(self) -> list[int]:
        """The numbers of the questions that were answered since."""
        found = []
        event = _Event()
        while self._x.XPending(self._display):
            self._x.XNextEvent(self._display, byref(event))
            if event.type == _CLIENT_MESSAGE and event.client.data[0] == self._ping:
                found.append(event.client.data[1])
        return found

    def focus(self, window: int) -> None:
        """Give a window the keys."""
        self._x.XSetInputFocus(self._display, window, 1, 0)
        self._x.XFlush(self._display)

    def press(self, *names: str) -> None:
        """Press keys together, as in ``press("Control_L", "k")``."""
        codes = [self._x.XKeysymToKeycode(self._display, self._x.XStringToKeysym(name.encode())) for name in names]
        for code, down in [*((code, 1) for code in codes), *((code, 0) for code in reversed(codes))]:
            self._test.XTestFakeKeyEvent(self._display, code, down, 0)
        self._x.XFlush(self._display)

    def wheel(self, x: int, y: int, down: bool) -> None:
        """Turn the wheel by a notch over a place of the screen."""
        self._test.XTestFakeMotionEvent(self._display, -1, x, y, 0)
        for pressed in (1, 0):
            self._test.XTestFakeButtonEvent(self._display, 5 if down else 4, pressed, 0)
        self._x.XFlush(self._display)

    def resize(self, window: int, width: int, height: int) -> None:
        """Make a window another size."""
        self._x.XResizeWindow(self._display, window, width, height)
        self._x.XFlush(self._display)

    def silences(self, window: int, pid: int, seconds: float, steps: Iterable[float] = ()) -> list[Silence]:
        """Ask the window of a process every 20 ms for so long: what each answer took.

        Meanwhile one step after the other is taken, each followed by the seconds that it yields.
        """
        asked: dict[int, tuple[float, float]] = {}
        took: list[Silence] = []
        begin = now = time.monotonic()
        end, due, step_due, left = begin + seconds, begin, begin, iter(steps)
        while now < end or asked:
            if now >= due and now < end:
                number = len(asked) + len(took) + 1
                asked[number] = now, worked(pid)
                self.ask(window, number)
                due = now + EVERY
            if now >= step_due:
                step_due = now + next(left, seconds)
            for each in self.answered():
                if each in asked:
                    since, had_worked = asked.pop(each)
                    took.append(Silence(time.monotonic() - since, worked(pid) - had_worked))
            if asked and now - min(since for since, _ in asked.values()) > _PATIENCE:
                raise TimeoutError("the window does not answer")
            time.sleep(0.001)
            now = time.monotonic()
        return took
