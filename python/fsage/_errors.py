"""What goes wrong, in the words of the program."""

from __future__ import annotations


class Error(Exception):
    """Something could not be done; the message names the file and what was expected."""


class InputError(Error, ValueError):
    """A request that makes no sense, or bad input: a file that is missing, a key that nothing knows."""


class SystemRefused(Error, OSError):
    """The system refused something: no space, no permission, a device that fails."""

    # OSError would show two arguments as a number and a text; there is one, and it is the message.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class AtWork(SystemRefused):
    """Another process works on the same folder."""


class CheckFailed(Error):
    """The answer of a check is no."""


class Warning(UserWarning):  # noqa: A001 - `fsage.Warning`, as in the program's own words
    """Something is not as it should be, and the work went on."""
