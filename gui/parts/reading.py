"""The one way in which a panel reads: one question under way, how far it is, Stop, why it failed, and Try again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import QObject

from gui import tasks
from gui.language import tr
from gui.style.states import StateStack

Stops: TypeAlias = Literal["soon", "at once", "never"]


class Reading:
    """The question that a panel has under way; a panel with two contents has one for each.

    Content that is on show stays while it is read again. A later question makes the answer to an earlier one void. One
    that fails says so in the panel's states and can be asked again as it was; one that is stopped leaves what was read
    before, or the way to read again.
    """

    def __init__(
        self,
        owner: QObject,
        states: StateStack,
        *,
        has: Callable[[], bool] = lambda: False,
        again: Callable[[], object] | None = None,
        keep: Callable[[], object] | None = None,
        failed: Callable[[BaseException], object] | None = None,
        stopped: Callable[[], object] | None = None,
        title: str = tr("This could not be read"),
        key: str = "reading",
        stops: Stops = "soon",
    ) -> None:
        """Prepare questions that show how they stand in ``states``; no answer comes once the ``owner`` is gone.

        ``has`` says whether something that was read before is there to ``keep`` on show, after a question was stopped.
        ``again`` reads anew where somebody tries again; without it, the question is asked as it was.
        ``failed`` and ``stopped`` take the place of :meth:`show_failed`, under ``title``, and :meth:`show_stopped`.
        ``key`` tells the questions of one owner apart. ``stops`` says how one is stopped: at the next checkpoint of the
        work, or at once where that may be long in coming; or that nobody is offered to stop it.
        """
        self._owner, self._states, self._key, self._stops = owner, states, key, stops
        self._has, self._keep = has, keep or states.show_content
        self._failed, self._stopped = failed or self.show_failed, stopped or self.show_stopped
        self._again = again
        self._asked: Callable[[], object] = lambda: None
        self._says = ""
        self.title = title
        self.task: tasks.Task | None = None

    @property
    def is_on(self) -> bool:
        """Whether an answer is awaited."""
        return self.task is not None and self.task.running

    def ask(
        self,
        work: Callable[[tasks.Progress], Any],
        done: Callable[[Any], object],
        says: str,
        *,
        title: str = "",
        partial: Callable[[Any], object] | None = None,
        failed: Callable[[BaseException], object] | None = None,
        stopped: Callable[[], object] | None = None,
    ) -> tasks.Task:
        """Ask, in the place of the question before; ``done`` shows the answer, ``partial`` each part that comes early.

        ``says`` stands in the panel while it is read, ``title`` in the status line. ``failed`` and ``stopped`` are for
        this question alone.
        """
        self._asked = lambda: self.ask(work, done, says, title=title, partial=partial, failed=failed, stopped=stopped)
        self.task = task = tasks.run(
            work,
            done=done,
            failed=failed or self._failed,
            cancelled=stopped or self._stopped,
            partial=partial,
            owner=self._owner,
            title=title,
            key=self._key,
        )
        task.progressed.connect(self._states.progress)
        self._says = says
        self.show_reading()
        return task

    def show_reading(self) -> None:
        """Say what is read; a panel that shows a part of it says once more that the rest is on its way."""
        self._states.show_loading(self._says, None if self._stops == "never" else self.stop)

    def again(self) -> None:
        """Read once more, as somebody tries again."""
        (self._again or self._asked)()

    def stop(self) -> None:
        """Ask the work to stop; what is kept is shown once it has, or at once."""
        if self.task is None:
            return
        if self._stops == "at once":
            self.drop()
            self._stopped()
        else:
            self.task.cancel()

    def drop(self) -> None:
        """Give the question up: nothing more comes of it, and the states stay as they are."""
        if self.task is not None:
            self.task.drop()
            self.task = None

    def show_failed(self, error: BaseException) -> None:
        """Say that it failed and what to do; content read earlier stays where the server is out of reach."""
        self._states.show_failed(error, self.again, self.title)

    def show_stopped(
        self,
        said: str = tr("Reading was stopped"),
        again: str = tr("Read again"),
        call: Callable[[], object] | None = None,
    ) -> None:
        """Go back to what was read before; where there is nothing, say so, with a button that reads again.

        Where that is another ``call`` than trying again, as it goes on from where it was stopped, it is handed in.
        """
        if self._has():
            self._keep()
        else:
            self._states.show_empty(said, "", [(again, call or self.again)], "hourglass")
