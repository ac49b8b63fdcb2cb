#!/usr/bin/env python3
"""Direct access where it is not allowed: an ordinary user's tasks, tasks to which userfaultfd is forbidden, and tasks whose
files are limited. Their operations give the same results by message, and the tasks say why.

    api_direct_rights.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import ctypes
import os
import platform
import struct
import sys

from api_faults import ORDINARY, no_ordinary_user
from api_jobs import expect, expect_equal, main

POSSIBLE = "neighbours reach memory directly"
FORBID = "--forbid-userfaultfd"
USERFAULTFD = {"x86_64": 323, "aarch64": 282}


def forbid_userfaultfd_and_run(command):
    """As the filters of containers do: the call fails (EPERM)."""
    no_new_rights, set_filter, filter_mode = 38, 22, 2
    load_number, jump_unless, answer = 0x20, 0x15, 0x06
    eperm, allow = 0x00050001, 0x7FFF0000
    program = b"".join(struct.pack("HBBI", *step) for step in (
        (load_number, 0, 0, 0), (jump_unless, 0, 1, USERFAULTFD[platform.machine()]), (answer, 0, 0, eperm),
        (answer, 0, 0, allow)))
    steps = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", 4, ctypes.addressof(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(no_new_rights, 1, 0, 0, 0) != 0 or libc.prctl(set_filter, filter_mode, header) != 0:
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


def run_with(jobs, wrap, reason, always):
    for mode in ("interrupt", "polling"):
        results = jobs.standalone(3, ["api_direct", mode], wrap=wrap, LAPI_USE_SHM="only", OPENLAPI_DIRECT="auto",
                                  MP_INFOLEVEL="2")
        for result in results:
            expect_equal(result.status, 0, f"{wrap} {mode}\n{result}")
            said = f"no direct access: {reason}" in result.err or (not always and POSSIBLE in result.err)
            expect(said, f"{wrap} {mode}\n{result}")


def user(jobs):
    """Root may open the device, which the call's filter does not close."""
    return [] if no_ordinary_user(jobs) else ORDINARY


def test_an_ordinary_user(jobs):
    run_with(jobs, user(jobs), "userfaultfd is restricted", always=False)


def test_userfaultfd_is_forbidden(jobs):
    run_with(jobs, [*user(jobs), sys.executable, __file__, FORBID], "userfaultfd is refused", always=False)


def test_files_are_limited(jobs):
    run_with(jobs, ["prlimit", f"--fsize={1 << 30}", "--"], "files may have", always=True)


if __name__ == "__main__":
    if sys.argv[1] == FORBID:
        forbid_userfaultfd_and_run(sys.argv[2:])
    sys.exit(main(sys.modules[__name__]))
