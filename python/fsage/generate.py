"""Workloads: a function for each source, with the options of `fsage generate`.

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


def snapshots(
    snapshots: Sequence[Path],
    *,
    output: Path | None = None,
    delete_times: Literal["smith96", "smith97", "reuse"] | None = None,
    growth: Literal["burst", "stretched"] | None = None,
    identity: Literal["auto", "generation", "birth", "ino"] | None = None,
    modifications: Literal["observed", "rewrite"] | None = None,
    placement: Literal["tree", "groups"] | None = None,
    profiles: Sequence[Path] | None = None,
    short_lived: Literal["smith96", "smith97", "matched"] | None = None,
    profiles_a_day: int | float | str | os.PathLike[str] | None = None,
    allocation_delay: float | None = None,
    block_reuse: bool | None = None,
    single_removals: bool | None = None,
    scale: int | float | str | os.PathLike[str] | None = None,
    repeat: int | float | str | os.PathLike[str] | None = None,
    seed: int | float | str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """Snapshots of a file system: what leads from each to the next.

    ``snapshots``: Folders of snapshots, or snapshots and series of them (Parquet; `fsage convert` makes them of
        other forms)
    ``delete_times``: How the times of deletions are found [default: reuse]
    ``growth``: How a large new file is written [default: stretched]
    ``identity``: What tells an inode from another one that had its number before [default: auto]
    ``modifications``: What a changed file becomes [default: observed]
    ``placement``: Where files are put [default: tree if there are paths, else groups]
    ``profiles``: Profiles of short-lived files; may be given several times
    ``short_lived``: How profiles are drawn [default: smith97]
    ``profiles_a_day``: Profiles a day [default: one for each 40 MB of the file system]
    ``allocation_delay``: Blocks are chosen up to this long after a write (delayed allocation)
    ``block_reuse``: Whether blocks that others got tell when a file went; off where blocks move by themselves
        [default: by the type of file system]
    ``single_removals``: The last removal from a directory dates only one file of it, not all that went
    ``scale``: Scale the workload to a file system FACTOR times larger: copies of its directories, each moved within
        the day
    ``repeat``: So many more years, from days of the past drawn at random
    ``seed``: Seed of what is guessed [default: 1]

    >>> night = runs / "policies" / "ffs" / "final.parquet"
    >>> fsage.generate.snapshots([night]).suffix
    '.parquet'
    """
    options = {
        "snapshots": snapshots,
        "delete_times": delete_times,
        "growth": growth,
        "identity": identity,
        "modifications": modifications,
        "placement": placement,
        "profiles": profiles,
        "short_lived": short_lived,
        "profiles_a_day": profiles_a_day,
        "allocation_delay": allocation_delay,
        "block_reuse": block_reuse,
        "single_removals": single_removals,
        "scale": scale,
        "repeat": repeat,
        "seed": seed,
    }
    return _made("snapshots", options, output, force, progress)


def git(
    repo: Path,
    *,
    output: Path | None = None,
    branch: int | float | str | os.PathLike[str] | None = None,
    view: Literal["commit", "day"] | None = None,
    rmdir: bool | None = None,
    clones: int | None = None,
    stagger: int | None = None,
    seed: int | float | str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """The history of a git repository: real creates, changes and deletes, with exact sizes and times.

    ``repo``: Folder of the repository
    ``branch``: Branch, tag or commit [default: HEAD]
    ``view``: A step for every commit, with files rewritten in place; or one a day, with new files for changed ones
        [default: commit]
    ``rmdir``: Remove directories when they become empty
    ``clones``: So many copies side by side, each in its own directory [default: 1]
    ``stagger``: Move each copy but the first by 0 to this many days, at random
    ``seed``: Seed of the days by which copies are moved [default: 1]
    """
    options = {
        "repo": repo,
        "branch": branch,
        "view": view,
        "rmdir": rmdir,
        "clones": clones,
        "stagger": stagger,
        "seed": seed,
    }
    return _made("git", options, output, force, progress)


def strace(
    logs: Sequence[Path],
    *,
    output: Path | None = None,
    roots: Sequence[Path] | None = None,
    trace: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """The system calls of programs, from logs of `strace -f -ttt -y`.

    ``logs``: Logs, in the order of time; may be compressed with gzip or zstd; `-` is standard input
    ``roots``: Only files below this directory; may be given several times [default: all but /proc, /sys, /dev]
    ``trace``: further options: only_new, merge_ms, utc_offset, profiles, profile_source, window, keep_appends,
        clones, stagger, seed, repeat, every, keep, vary
    """
    options = {
        "logs": logs,
        "roots": roots,
        "trace": trace,
    }
    return _made("strace", options, output, force, progress)


def nfsdump(
    logs: Sequence[Path],
    *,
    output: Path | None = None,
    guess: bool | None = None,
    trace: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """NFS traces in the format of nfsdump, as those of Harvard (2001 to 2003).

    ``logs``: Traces, in the order of time; may be compressed with gzip or zstd; `-` is standard input
    ``guess``: Where a removed name is not known, take the file that had the name last
    ``trace``: further options: only_new, merge_ms, utc_offset, profiles, profile_source, window, keep_appends,
        clones, stagger, seed, repeat, every, keep, vary
    """
    options = {
        "logs": logs,
        "guess": guess,
        "trace": trace,
    }
    return _made("nfsdump", options, output, force, progress)


def oplog(
    log: Path,
    *,
    output: Path | None = None,
    roots: Sequence[Path] | None = None,
    trace: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """Our own operation log, a CSV file: for whatever can be traced and has no importer.

    ``log``: The log; may be compressed with gzip or zstd; `-` is standard input
    ``roots``: Only files below this directory; may be given several times [default: all]
    ``trace``: further options: only_new, merge_ms, utc_offset, profiles, profile_source, window, keep_appends,
        clones, stagger, seed, repeat, every, keep, vary
    """
    options = {
        "log": log,
        "roots": roots,
        "trace": trace,
    }
    return _made("oplog", options, output, force, progress)


def playback(
    file: Path,
    *,
    output: Path | None = None,
    groups: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """A `playback` text, as Smith and Seltzer published their aging workload.

    ``file``: The text, which may be compressed; `-` is standard input
    ``groups``: further options: inodes_per_group, groups
    """
    options = {
        "file": file,
        "groups": groups,
    }
    return _made("playback", options, output, force, progress)


def profile(
    profile: Path,
    *,
    output: Path | None = None,
    seed: int | None = None,
    days: int | float | str | os.PathLike[str] | None = None,
    capacity: int | float | str | os.PathLike[str] | None = None,
    file_scale: int | float | str | os.PathLike[str] | None = None,
    utilization: int | float | str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Progress = False,
) -> pathlib.Path:
    """A synthetic workload: a preset, a TOML file of one's own, or a profile of Geriatrix.

    ``profile``: Name of a preset, TOML file, or folder with the three files of a Geriatrix profile
    ``seed``: Seed [default: 1]
    ``days``: The same curves over so many days, with the same activity a day if the profile says that, else in all
        [default: as the profile says]
    ``capacity``: Another size of the file system, as in 512M, with as many more operations and files
    ``file_scale``: Files N times larger, on a file system N times larger, with no more operations; a capacity is
        that of the larger one [default: 1]
    ``utilization``: Utilization at the end, in percent of the capacity; a curve keeps its shape
    ``set``: A value in place of the profile's own, by its key in the TOML file (--show NAME), as in
        size.mean1=4096; may be given several times

    >>> made = fsage.generate.profile("fileserver", days=1, capacity="64M", set={"operations_per_day": 100})
    >>> made.suffix
    '.parquet'
    """
    options = {
        "profile": profile,
        "seed": seed,
        "days": days,
        "capacity": capacity,
        "file_scale": file_scale,
        "utilization": utilization,
        "set": set,
    }
    return _made("profile", options, output, force, progress)
