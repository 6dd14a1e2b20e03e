"""What callers give, checked before any work, with the name of the argument in every message."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from ._errors import InputError


@overload
def whole(name: str, value: int, low: int = 0, high: int = 2**63 - 1) -> int: ...
@overload
def whole(name: str, value: int | None, low: int = 0, high: int = 2**63 - 1) -> int | None: ...
def whole(name: str, value: int | None, low: int = 0, high: int = 2**63 - 1) -> int | None:
    """A whole number, or none where none was given."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, found {value!r}") from None
    if not low <= number <= high:
        until = f"{low} or more" if high == 2**63 - 1 else f"{low} to {high}"
        raise InputError(f"{name}: expected {until}, found {number}")
    return number


def number(name: str, value: float) -> float:
    """A number, whole or not."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a number, found {value!r}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name}: expected a number, found {value!r}") from None


def as_json(of: object) -> str:
    """Options as JSON, numbers of numpy and paths among them; a ``TypeError`` names what has no form there."""

    def plain(value: object) -> object:
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, Mapping):
            return dict(value)
        # Numbers, texts and arrays of numpy and pandas.
        for become in "tolist", "item":
            if callable(found := getattr(value, become, None)):
                return found()
        if hasattr(value, "__index__"):
            return operator.index(value)
        raise TypeError(f"{value!r} is none of texts, numbers, paths, and lists and tables of these")

    return json.dumps(of, default=plain, allow_nan=False)


def options_as_json(name: str, options: Mapping[str, object]) -> str:
    """Options of a call as JSON, without those that were not given."""
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        try:
            as_json(value)
        except TypeError as error:
            raise InputError(f"{name}: {error}") from None
        except ValueError:
            raise InputError(f"{name}: {key}: expected a number, found {value!r}") from None
    return as_json(given)


def texts(name: str, values: str | Sequence[str]) -> list[str]:
    """Texts, of which there may be none; one may come without a list around it."""
    if isinstance(values, str):
        return [values]
    found = None if isinstance(values, bytes) or not isinstance(values, Iterable) else list(values)
    if found is None or not all(isinstance(value, str) for value in found):
        raise TypeError(f"{name}: expected a list of texts, found {values!r}")
    return found


def flag(name: str, value: bool) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, found {value!r}")
    return value


def path(name: str, value: str | os.PathLike[str]) -> str:
    """A path, a run among them."""
    found = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(found, str):
        raise TypeError(f"{name}: expected a path, found {value!r}")
    return found


def path_if_any(name: str, value: str | os.PathLike[str] | None) -> str | None:
    """A path, or none where none was given."""
    return None if value is None else path(name, value)


def text_if_any(name: str, value: str | None) -> str | None:
    """A text, or none where none was given."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, found {value!r}")
    return value


def several(values: str | Sequence[str] | None) -> Sequence[str] | None:
    """Texts; one may come without a list around it."""
    return [values] if isinstance(values, str) else values


def paths(name: str, values: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Paths, runs among them; one may come without a list around it."""
    found = [values] if isinstance(values, (str, os.PathLike)) else values
    try:
        return [path(name, value) for value in found]
    except TypeError:
        raise TypeError(f"{name}: expected paths, found {values!r}") from None


def wholes(name: str, values: int | Iterable[int], low: int, high: int) -> list[int]:
    """Whole numbers, in order and each once; one may come without a list around it."""
    found = values if isinstance(values, Iterable) else [values]
    return sorted({whole(name, value, low, high) for value in found})


def specs(on: str | Sequence[str]) -> list[str]:
    """Targets; one may come without a list around it."""
    found = [on] if isinstance(on, str) else on
    try:
        found = list(found)
    except TypeError:
        raise TypeError(f"on: expected targets, as in ['ffs', 'ext4:size=64G'], found {on!r}") from None
    for spec in found:
        if not isinstance(spec, str):
            raise TypeError(f"on: expected a target, as in 'ext4:size=64G', found {spec!r}")
    return found


def some_specs(on: str | Sequence[str]) -> list[str]:
    """Targets, of which there must be one."""
    found = specs(on)
    if not found:
        raise InputError("on: expected a target at least, as in 'ffs'; fsage.targets() lists what there is")
    return found
