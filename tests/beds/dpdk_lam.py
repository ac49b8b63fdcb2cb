#!/usr/bin/env python3
"""MPI programs over the rpi module `lapi` in an untouched LAM/MPI 7.1.4 in user space mode over DPDK ports, as an ordinary
user. Runs inside the bed:

    lam_bed.py MODULES:DPDK tests/beds/dpdk-ports 2 --kind memif -- dpdk_lam.py FOLDER
    lam_bed.py MODULES:DPDK tests/beds/dpdk-ports 4 --kind af_packet -- dpdk_lam.py FOLDER

Of four ports a process has its own and that of process + 2: together one adapter, or two. Prints TAP."""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "packages"))
from lam_lapi_jobs import LapiLam, Stream  # noqa: E402
from tap import check, finish  # noqa: E402
from unpacked_lam import run  # noqa: E402

KIND = os.environ["DPDK_PORTS_KIND"]
PROCESSES = 2
ON_BRIDGE = KIND != "memif"
VARIABLES = ["MP_EUILIB=us", "OPENLAPI_MODULES=dpdk", "LAPI_USE_SHM=no", "MP_INFOLEVEL=2"]


def arguments(process):
    """EAL's, with all devices of the process."""
    own = os.environ[f"DPDK_PORTS_EAL_{process}"]
    if not ON_BRIDGE:
        return own
    second = re.search(r"--vdev=(\S+)", os.environ[f"DPDK_PORTS_EAL_{process + PROCESSES}"])[1]
    return f"{own} --vdev={second.replace('net_af_packet0', 'net_af_packet1')}"


class DpdkLam(LapiLam):
    """Its processes have ports of their own."""

    def parameters(self, variables=()):
        return super().parameters([*VARIABLES, *variables])

    def script(self, before, program, words=""):
        own = "\n".join(f'[ "$LAMRANK" != {process} ] || export OPENLAPI_DPDK_ARGUMENTS="{arguments(process)}"'
                        for process in range(PROCESSES))
        return super().script(f"{own}\n{before}", program, words)


def same_as_over_tcp(lam, program):
    expected = lam.mpirun(PROCESSES, program, rpi="tcp")
    done = lam.run_lapi(PROCESSES, lam.script("", program))
    check(f"{program} over {KIND}", done.returncode == 0 and done.stdout == expected
          and len(expected.splitlines()) > PROCESSES, f"{done}, not {expected}")
    ways = set(re.findall(rf"task (\d+) reaches task (\d+) over dpdk, net_{KIND}", done.stderr))
    check("and that over its ports", ways == {("0", "1"), ("1", "0")}, done.stderr)


def link(port, state):
    subprocess.run(["ip", "link", "set", f"dpdk{port}", state], check=True)


def test_a_path_is_killed(lam):
    stream = Stream(lam, 6, ["MP_INSTANCES=2"], lam.script("", "./lam_stream", '"$@"'))
    time.sleep(1)
    link(0, "down")
    status, out, err = stream.end()
    link(0, "up")
    check("one of two ports is killed: nothing is lost", status == 0 and out == "begun\nwrong 0\n", (status, out, err))
    sent = {port: int(count) for port, count in re.findall(r"task 0, dpdk, (net_\S+) [^\n]*: (\d+) packets sent", err)}
    check("and both were in use", len(sent) == 2 and min(sent.values()) > 100, err)


def test_a_killed_process(lam):
    for kind in "rs":
        said = lam.survivor_says("./lam_killed", kind)
        check(f"a process is killed, {kind}: an error of MPI", said == "class 21\n", (said, lam.survivors_errors()))
        run(*lam.command("lamclean"))


def test_without_the_right_to_a_port(folder):
    with DpdkLam("", folder=folder) as lam:
        texts = lam.last_words(PROCESSES, "", "./lam_messages", "net_af_packet0")
        check("who may not open a port is told so", any("Operation not permitted" in text for text in texts), texts)


def main():
    rights = ["net_raw", "net_admin"] if ON_BRIDGE else []
    if ON_BRIDGE:
        test_without_the_right_to_a_port(sys.argv[1])
    with DpdkLam("", folder=sys.argv[1], capabilities=rights) as lam:
        for program in ("./lam_messages", "./lam_fortran"):
            same_as_over_tcp(lam, program)
        if ON_BRIDGE:
            test_a_path_is_killed(lam)
        test_a_killed_process(lam)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
