"""How every panel reads: one question at a time, with its progress, Stop, the reason of a failure, and Try again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import QObject

from gui import tasks
from gui.language import tr
from gui.style.states import StateStack

Stops: TypeAlias = Literal["soon", "at once", "never"]


class Reading:
    """The question that a panel is asking; a panel with two contents has one for each.

    Content on show stays while it is read again. A later question makes the answer to an earlier one void. A question
    that fails says so in the panel's states and can be asked again; one that is stopped leaves the earlier content,
    or a button that reads again.
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
        """Prepare questions that show their state in ``states``; no answer comes once the ``owner`` is gone.

        ``has`` says whether there is earlier content to ``keep`` on show after a question was stopped. ``again``
        reads again when a person tries again; without it, the same question is asked. ``failed`` and ``stopped``
        replace :meth:`show_failed`, under ``title``, and :meth:`show_stopped`.
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
        computes: bool = False,
    ) -> tasks.Task:
        """Ask, replacing the question before; ``done`` shows the answer, ``partial`` each part that comes early.

        ``says`` is shown in the panel while it reads, ``title`` in the status line. ``failed`` and ``stopped`` are
        for this question only.
        """
        self._asked = lambda: self.ask(
            work, done, says, title=title, partial=partial, failed=failed, stopped=stopped, computes=computes
        )
        self.task = task = tasks.run(
            work,
            done=done,
            failed=failed or self._failed,
            cancelled=stopped or self._stopped,
            partial=partial,
            owner=self._owner,
            title=title,
            key=self._key,
            reads=True,
            computes=computes,
        )
        task.progressed.connect(self._states.progress)
        self._says = says
        self.show_reading()
        return task

    def show_reading(self) -> None:
        """Say what is read; a panel that already shows a part of it may call this once more."""
        self._states.show_loading(self._says, None if self._stops == "never" else self.stop)

    def again(self) -> None:
        """Read again, because a person tries again."""
        (self._again or self._asked)()

    def stop(self) -> None:
        """Ask the work to stop; the earlier content is shown once it has stopped, or at once."""
        if self.task is None:
            return
        if self._stops == "at once":
            self.drop()
            self._stopped()
        else:
            self.task.cancel()

    def drop(self) -> None:
        """Give up the question: its answer is ignored, and the states stay as they are."""
        if self.task is not None:
            self.task.drop()
            self.task = None

    def show_failed(self, error: BaseException) -> None:
        """Say that it failed and what to do; earlier content stays if only the server is unreachable."""
        self._states.show_failed(error, self.again, self.title)

    def show_stopped(
        self,
        said: str = tr("Reading was stopped"),
        again: str = tr("Read again"),
        call: Callable[[], object] | None = None,
    ) -> None:
        """Go back to the earlier content; if there is none, say that reading was stopped, with a button that reads
        again.

        ``call`` replaces trying again if reading can continue from where it was stopped.
        """
        if self._has():
            self._keep()
        else:
            self._states.show_empty(said, "", [(again, call or self.again)], "hourglass")
