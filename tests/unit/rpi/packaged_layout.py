#!/usr/bin/env python3
"""Compares lam-ssi-rpi.h and the headers that it includes with LAM/MPI 7.1.4's.

    packaged_layout.py ROOT C_COMPILER             our headers with the table that LAM's gave
    packaged_layout.py --packaged ROOT C_COMPILER  that table with the headers of Debian's lam4-dev, which it downloads

layout_table.c prints the table: the place and size of each member and the value of each name. LAM's headers are those of
the package, unpacked and not installed; their declarations of functions are checked too. Prints TAP."""
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "packages"))
import debian_archive  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "lam-7.1.4-x86_64.table"
# Functions that are only there to be compiled are thrown away before they are missed.
FLAGS = ["-O1", "-ffunction-sections", "-Wl,--gc-sections", "-Wincompatible-pointer-types", "-Werror"]
STRICT = ["-std=c89", "-pedantic", "-Wall", "-Wextra"]
OUR_HEADERS = ["api/rpi/include", "control/boot/include"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def table_of(compiler, folder, folders, *flags):
    """What layout_table.c prints with the headers of these folders."""
    program = pathlib.Path(folder) / "layout_table"
    includes = [f"-I{each}" for each in folders]
    run(*compiler, HERE / "layout_table.c", "-o", program, *FLAGS, *flags, *includes)
    return run(program).splitlines()


def unpack_headers(folder):
    """Folders of LAM's headers, and of those that they include."""
    headers = debian_archive.unpack(["lam4-dev", "libltdl-dev"], folder) / "usr/include"
    return [headers / "lam", headers]


def compare(what, expected, table):
    wrong = [f"# {theirs}  here {ours}" for theirs, ours in zip(expected, table) if theirs != ours]
    if len(expected) != len(table):
        wrong.append(f"# {len(expected)} lines, here {len(table)}")
    print("\n".join(["1..1", f"{'not ok' if wrong else 'ok'} 1 - {what}: {len(table)} lines", *wrong]))
    return 1 if wrong else 0


def main():
    packaged = sys.argv[1:2] == ["--packaged"]
    root, compiler = sys.argv[-2], shlex.split(sys.argv[-1])
    if platform.machine() != "x86_64":
        print("1..0 # SKIP the table is that of x86-64")
        return 0
    expected = TABLE.read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        if packaged:
            # As their compiler was used to: LAM's headers have functions without parameters' types.
            return compare("Debian's lam4-dev", expected,
                           table_of(compiler, folder, unpack_headers(folder), "-DPACKAGED", "-w",
                                    "-Werror=incompatible-pointer-types"))
        folders = [f"{root}/{each}" for each in OUR_HEADERS]
        return compare("our headers", expected, table_of(compiler, folder, folders, *STRICT))


if __name__ == "__main__":
    sys.exit(main())
