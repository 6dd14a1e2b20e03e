"""Writes fsage/generate.py: a function for each source of workloads, from what the program knows of them.

Run it where fsage is installed: python write_generate.py > fsage/generate.py. A test compares.
"""

import json
import sys
import textwrap

from fsage import _native

HEAD = '''"""Workloads: a function for each source, with the options of `fsage generate`.

Every function writes a workload to ``output`` and gives its path; the ending says the form: ``.parquet``, ``.ops``,
``.ops.gz``, ``.ops.zst``. Without ``output`` it is a temporary file, which is there until Python ends. An option that
is not given is as the program has it.

>>> fsage.generate.profile("home-1996", days=2, seed=1).name
'profile-1.parquet'

This file is written by write_generate.py.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _native
from ._given import flag, options_as_json
from ._given import path as given_path
from ._listen import Listener, Progress

Path = str | os.PathLike[str]


_temporary: list[tempfile.TemporaryDirectory[str]] = []
_numbers = itertools.count(1)


def _temporary_file(name: str) -> pathlib.Path:
    """One that goes with the process."""
    if not _temporary:
        _temporary.append(tempfile.TemporaryDirectory(prefix="fsage-"))
    return pathlib.Path(_temporary[0].name, f"{name}-{next(_numbers)}.parquet")


def _made(
    name: str, options: Mapping[str, object], output: Path | None, force: bool, progress: Progress
) -> pathlib.Path:
    output = _temporary_file(name) if output is None else output
    source = f'{{"{name}": {options_as_json(f"generate {name}", options)}}}'
    with Listener(progress) as listener:
        _native.generate(source, given_path("output", output), flag("force", force), listener)
    return pathlib.Path(output)
'''


EXAMPLES = {
    "profile": '''>>> made = fsage.generate.profile("fileserver", days=1, capacity="64M", set={"operations_per_day": 100})
>>> made.suffix
\'.parquet\'''',
    "snapshots": '''>>> night = runs / "policies" / "ffs" / "final.parquet"
>>> fsage.generate.snapshots([night]).suffix
\'.parquet\'''',
}


def kind(option):
    """The type of an option, by what holds without it."""
    default = option["default"]
    if option["words"] == ["true", "false"]:
        return "bool"
    if option["words"]:
        return "Literal[" + ", ".join(f'"{word}"' for word in option["words"]) + "]"
    if option["name"] in ("snapshots", "logs"):
        return "Sequence[Path]"
    if option["is_required"]:
        return "Path"
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, (int, float)):
        return type(default).__name__
    if isinstance(default, list):
        return "Sequence[Path]"
    if isinstance(default, dict):
        return "Mapping[str, Any]"
    return "int | float | str | os.PathLike[str]"


def function(source):
    """The function of a source."""
    name, options = source["name"], source["options"]
    required = [o for o in options if o["is_required"]]
    others = [o for o in options if not o["is_required"]]
    lines = [f"def {name}("]
    lines += [f"    {o['name']}: {kind(o)}," for o in required]
    lines += ["    *,", "    output: Path | None = None,"]
    lines += [f"    {o['name']}: {kind(o)} | None = None," for o in others]
    lines += ["    force: bool = False,", "    progress: Progress = False,", ") -> pathlib.Path:"]
    doc = [source["summary"].rstrip(".") + ".", ""]
    for option in options:
        text = option["doc"]
        if isinstance(option["default"], dict) and option["default"]:
            text = "further options: " + ", ".join(option["default"])
        elif not option["is_required"] and option["default"] not in (None, [], {}, False) and "[default" not in text:
            text += f" [default: {option['default']}]"
        doc += textwrap.wrap(f"``{option['name']}``: {text}", 112, subsequent_indent="    ")
    if name in EXAMPLES:
        doc += ["", EXAMPLES[name]]
    lines += textwrap.indent('"""' + "\n".join(doc).rstrip() + '\n"""', "    ").splitlines()
    lines += ["    options = {"] + [f'        "{o["name"]}": {o["name"]},' for o in options] + ["    }"]
    lines += [f'    return _made("{name}", options, output, force, progress)']
    return "\n".join(lines)


def written():
    """The whole file."""
    return "\n\n\n".join([HEAD.rstrip()] + [function(s) for s in json.loads(_native.sources())]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(written())
