"""Progress, warnings and remarks of work that goes on."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Optional, Union

from ._errors import Warning

Progress = Union[bool, Callable[[str, int, Optional[int]], object]]
"""``True`` shows a line on stderr, with the time that is left; a function is called with what is done, how much, and of
how much."""

_log = logging.getLogger("fsage")


def _of_caller() -> int:
    """How far from a function of this package, as ``warnings`` counts, the line is that called the package."""
    here, level = os.path.dirname(__file__), 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level


class Listener:
    """Hears what the laboratory says: warnings become :class:`fsage.Warning`, remarks go to the log ``fsage``."""

    def __init__(self, progress: Progress = False) -> None:
        if not (isinstance(progress, bool) or callable(progress)):
            raise TypeError(f"progress: expected True, False or a function, found {progress!r}")
        self._progress = progress
        self._shown = 0.0
        self._line = False
        # What was begun, when, and how much of it was done then.
        self._begun: tuple[str, float, int] | None = None

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def _clear(self) -> None:
        if self._line:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._line = False

    def warn(self, text: str) -> None:
        self._clear()
        warnings.warn(text, Warning, stacklevel=_of_caller())

    def note(self, text: str) -> None:
        _log.info("%s", text)

    def progress(self, what: str, done: int, total: int | None) -> None:
        if callable(self._progress):
            self._progress(what, done, total)
        elif self._progress:
            now = time.monotonic()
            if self._begun is None or self._begun[0] != what or done < self._begun[2]:
                self._begun = (what, now, done)
            if now - self._shown > 0.2 or done == total:
                self._shown = now
                self._line = True
                # A total may be what was expected, and less than what comes.
                share = f"{min(100 * done / total, 100):5.1f} %" if total else f"{done}"
                sys.stderr.write(f"\r\x1b[K{what}: {share}{self._left(now, done, total)}")
                sys.stderr.flush()

    def _left(self, now: float, done: int, total: int | None) -> str:
        """How long the rest takes, if it goes on as since the beginning; nothing in the first second."""
        if self._begun is None or not total:
            return ""
        _, began, before = self._begun
        if now - began < 1 or done <= before or done >= total:
            return ""
        seconds = (now - began) * (total - done) / (done - before)
        for unit, size in ("days", 86_400), ("h", 3600), ("min", 60):
            if seconds >= 2 * size:
                return f", about {seconds / size:.0f} {unit} left"
        return f", about {max(seconds, 1):.0f} s left"
