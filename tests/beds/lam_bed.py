#!/usr/bin/env python3
"""Runs a bed's command with an untouched LAM/MPI 7.1.4, unpacked, our rpi module and the MPI programs of tests/packages:

    lam_bed.py MODULES COMMAND...    MODULES: the folder of ssi_rpi_lapi.so, and behind colons modules of transports that
                                     it loads; the word FOLDER becomes that of all this

Beds have no network to download from."""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "packages"))
from lam_lapi_jobs import LapiLam  # noqa: E402

PROGRAMS = ["lam_messages.c", "lam_fortran.f90", "lam_killed.c", "lam_stream.c", "lam_spawn.c",
            "lam_connect.c"]


def main():
    modules, *command = sys.argv[1:]
    modules, *transports = modules.split(":")
    lam = LapiLam(modules, transports)
    for source in PROGRAMS:
        lam.compile_program(source)
    return subprocess.run([str(lam.folder) if word == "FOLDER" else word for word in command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
