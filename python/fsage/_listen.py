"""Progress, warnings and remarks of work that goes on."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable
from typing import Optional, Union

from ._errors import Warning

Progress = Union[bool, Callable[[str, int, Optional[int]], object]]
"""``True`` shows a line on stderr; a function is called with what is done, how much, and of how much."""

_log = logging.getLogger("fsage")


class Listener:
    """Hears what the laboratory says: warnings become :class:`fsage.Warning`, remarks go to the log ``fsage``."""

    def __init__(self, progress: Progress = False) -> None:
        self._progress = progress
        self._shown = 0.0
        self._line = False

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
        # Beyond this function, the native call and the function of the package stands whoever called it.
        warnings.warn(text, Warning, stacklevel=4)

    def note(self, text: str) -> None:
        _log.info("%s", text)

    def progress(self, what: str, done: int, total: int | None) -> None:
        if callable(self._progress):
            self._progress(what, done, total)
        elif self._progress and (now := time.monotonic()) - self._shown > 0.2:
            self._shown = now
            self._line = True
            share = f"{100 * done / total:5.1f} %" if total else f"{done}"
            sys.stderr.write(f"\r\x1b[K{what}: {share}")
            sys.stderr.flush()
