#!/usr/bin/env python3
"""Universes over hosts that have what `meson install` installs, each below a prefix of its own. Runs inside the bed:

    tests/beds/hosts 4 --sshd -- hosts_installed.py BUILD

Prints TAP."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_programs import FOLDER, Done, daemons  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
HOSTS = os.environ["HOSTS_NAMES"].split()
REMOTE_SHELL = {"LAM_MPI_SSI_boot_rsh_fast": "1", "LAM_MPI_SSI_boot_rsh_no_n": "1"}
# A remote shell that has only one of these bins in its PATH.
AGENT = """#!/bin/sh
host=$1; shift
exec ssh -x -o BatchMode=yes $host "PATH={path}:/usr/bin:/bin; $*"
"""


def install():
    """The prefixes: here, and of the other hosts; and where the process schema is."""
    subprocess.run(["meson", "install", "--no-rebuild", "--quiet", "-C", BUILD, "--destdir", FOLDER / "here"], check=True,
                   stdout=sys.stderr)
    shutil.copytree(FOLDER / "here", FOLDER / "there", symlinks=True)
    below = next((FOLDER / "here").rglob("bin/lamboot")).parents[1].relative_to(FOLDER / "here")
    return FOLDER / "here" / below, FOLDER / "there" / below, next((FOLDER / "here").rglob("lam-conf.lamd"))


def agent(path):
    file = FOLDER / "agent"
    file.write_text(AGENT.format(path=path))
    file.chmod(0o755)
    return str(file)


class Installed:
    def __init__(self):
        self.here, self.there, self.schema = install()

    def boot(self, pairs, path, algorithm="thread"):
        hosts = FOLDER / "schema"
        hosts.write_text(f"{HOSTS[0]}\n" + "".join(f"{host} {pairs}\n" for host in HOSTS[1:]))
        return Done([f"{self.here}/bin/lamboot", "-c", str(self.schema), str(hosts)], LAM_MPI_SSI_boot="rsh",
                    LAM_MPI_SSI_boot_rsh_agent=agent(path), **REMOTE_SHELL,
                    LAM_MPI_SSI_boot_base_algorithm=algorithm, LAM_MPI_SSI_boot_base_tree_degree="1")

    def check_universe(self, what, booted):
        programs = {Done(["ssh", host, "readlink /proc/$(pgrep -x lamd)/exe"]).out for host in HOSTS[1:]}
        job = Done([f"{self.here}/bin/lapirun", "N", "hostname"])
        halted = Done([f"{self.here}/bin/lamhalt"])
        check(what, [booted.status, job.status, halted.status] == [0, 0, 0] and sorted(job.out.split()) == HOSTS,
              (booted, job, halted))
        check(f"{what}: each host's own daemon", len(programs) == 1 and programs.pop().startswith(f"{self.there}/"),
              programs)

    def wipe(self):
        return Done([f"{self.here}/bin/lamwipe", str(FOLDER / "schema")], LAM_MPI_SSI_boot="rsh",
                    LAM_MPI_SSI_boot_rsh_agent=agent(f"{self.there}/bin"), **REMOTE_SHELL)


def main():
    installed = Installed()
    for algorithm in ("linear", "tree", "thread"):
        installed.check_universe(f"prefix= in the boot schema, {algorithm}",
                                 installed.boot(f"prefix={installed.there}", "/nowhere", algorithm))
        installed.check_universe(f"bin in the PATH of the shell there, {algorithm}",
                                 installed.boot("", f"{installed.there}/bin", algorithm))
    done = installed.boot("", "/nowhere")
    check("neither: the host is named, and what is needed", done.status == 1 and f"({HOSTS[1]})" in done.err
          and "the host's line of the boot schema needs prefix=FOLDER" in done.err, done)
    check("nothing is left on any host", not daemons(HOSTS), daemons(HOSTS))
    booted = installed.boot("", f"{installed.there}/bin")
    wiped = installed.wipe()
    check("lamwipe", booted.status == 0 and wiped.status == 0 and not daemons(HOSTS), (booted, wiped, daemons(HOSTS)))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
