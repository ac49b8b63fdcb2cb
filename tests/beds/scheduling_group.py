"""One scheduling group for all that a bed runs.

Where nobody else groups processes, Linux shares the processors between sessions (kernel.sched_autogroup_enabled), not
between processes. Every host of a bed is several sessions, and with as many as that Linux 6.18 leaves some of them
without a processor for a minute. The processes of a control group are shared fairly among each other.
"""
import contextlib
import os
import pathlib
import time

NAME = "openlapi-hosts"
SWITCH = pathlib.Path("/proc/sys/kernel/sched_autogroup_enabled")
PATIENCE = 2  # seconds; processes that were killed leave their group a little later


def mounted():
    """Where the control groups of the processors are; None: nowhere, or they are not in use."""
    for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpu" in options.split(","):
            return pathlib.Path(folder)
        if kind == "cgroup2" and "cpu" in pathlib.Path(folder, "cgroup.subtree_control").read_text(encoding="ascii").split():
            return pathlib.Path(folder)
    return None


def first_group():
    """The folder of the group that all begin in, when this process is in it and the kernel goes by sessions there."""
    try:
        folder = mounted() if SWITCH.read_text(encoding="ascii").strip() != "0" else None
        inside = (folder / "cgroup.procs").read_text(encoding="ascii").split() if folder is not None else []
        return folder if str(os.getpid()) in inside else None
    except OSError:
        return None


def enter(first):
    """A new group, with this process in it."""
    for old in first.glob(NAME + "-*"):  # of beds that were killed; those of others are not empty
        with contextlib.suppress(OSError):
            old.rmdir()
    group = first / f"{NAME}-{os.getpid()}"
    group.mkdir()
    (group / "cgroup.procs").write_text("0", encoding="ascii")
    return group


def leave(group, first):
    """The group is removed when it is empty."""
    (first / "cgroup.procs").write_text("0", encoding="ascii")
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def scheduling_group():
    """For this process and what it starts from now on. Nothing where it cannot be had: the same runs, only slower."""
    first, group = first_group(), None
    with contextlib.suppress(OSError):
        group = enter(first) if first is not None else None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if group is not None:
                leave(group, first)
