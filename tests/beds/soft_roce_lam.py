#!/usr/bin/env python3
"""MPI programs over the rpi module `lapi` in an untouched LAM/MPI 7.1.4 in user space mode over RDMA. Runs inside the
machine of soft-roce:

    lam_bed.py MODULES:VERBS tests/beds/soft-roce --devices 4 -- soft_roce_lam.py FOLDER

Processes of even ranks use rxe0 and those of odd ones rxe1, so that packets between them cross the bridge; where a cable
is pulled each has the second next one, too. Prints TAP."""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "packages"))
from lam_lapi_jobs import LapiLam, Stream  # noqa: E402
from packets_on_wire import PacketKinds  # noqa: E402
from paths_probe import wait_until  # noqa: E402
from tap import check, finish  # noqa: E402
from unpacked_lam import run  # noqa: E402

# First bytes of RoCE v2 packets: SEND ONLY and RDMA READ REQUEST of connections, SEND ONLY as a datagram.
OPCODES = {"sent": 0x04, "read": 0x0c, "datagrams": 0x64}
USER_SPACE = ["MP_EUILIB=us", "MP_DEVTYPE=ib", "LAPI_USE_SHM=no", "MP_INFOLEVEL=2"]
BULK = ["MP_USE_BULK_XFER=yes", "MP_BULK_MIN_MSG_SIZE=32768"]
WAYS = {("0", "1", "verbs, rxe0 port 1, GID 1 (::ffff:10.77.0.1)"),
        ("1", "0", "verbs, rxe1 port 1, GID 1 (::ffff:10.77.0.2)")}


class VerbsLam(LapiLam):
    """Its jobs have an adapter for each process."""

    def parameters(self, variables=()):
        return super().parameters([*USER_SPACE, *variables])

    def script(self, before, program, words=""):
        return super().script(f"export MP_EUIDEVICE=rxe$((LAMRANK % 2))\n{before}", program, words)


def same_as_over_tcp(lam, kinds, program, variables, problem):
    """`problem`: what is wrong with the numbers of packets, or empty."""
    expected = lam.mpirun(2, program, rpi="tcp")
    before = kinds.counts()
    done = lam.run_lapi(2, lam.script("", program), variables=variables)
    counts = {kind: count - before[kind] for kind, count in kinds.counts().items()}
    check(f"{program} with {variables}", done.returncode == 0 and done.stdout == expected
          and len(expected.splitlines()) > 2, f"{done}, not {expected}")
    ways = set(re.findall(r"task (\d+) reaches task (\d+) over ([^\n]+)", done.stderr))
    check("and that over both adapters", ways == WAYS, done.stderr)
    check("with packets of the right kind", not problem(counts), problem(counts))
    print(f"# {counts}", flush=True)


def bulk_problem(counts):
    return "" if counts["read"] > 20 and counts["datagrams"] > 100 and counts["sent"] == 0 else str(counts)


def connection_problem(counts):
    return "" if counts["sent"] > 100 and counts["read"] == 0 else str(counts)


def has_carried(port, before, amount=32 << 20):
    """Bytes over its cable: sooner or later."""
    return wait_until(lambda: carried(port) - before > amount)


def carried(port):
    return int(pathlib.Path(f"/sys/class/net/port{port}/statistics/rx_bytes").read_text())


def test_a_cable_is_pulled(lam):
    two = ("unset MP_EUIDEVICE; device=$((LAMRANK % 2)); "
           "export MP_LAPI_NETWORK=@2:1,rxe$device:2,rxe$((device + 2))")
    enough = pathlib.Path(tempfile.mkdtemp(prefix="openlapi-stream-"), "enough")
    enough.parent.chmod(0o755)  # the job is an ordinary user's
    before = [carried(port) for port in (0, 2)]
    stream = Stream(lam, enough, program=lam.script(two, "./lam_stream", '"$@"'))
    both = [has_carried(port, former) for port, former in zip((0, 2), before)]
    subprocess.run(["ip", "link", "set", "port0", "down"], check=True)
    goes_on = has_carried(2, carried(2))
    enough.touch()
    status, out, err = stream.end()
    subprocess.run(["ip", "link", "set", "port0", "up"], check=True)
    check("both of two cables are in use, and one alone when the other is pulled", all(both) and goes_on, (both, goes_on, err))
    check("one of two cables is pulled: nothing is lost", status == 0 and out == "begun\nwrong 0\n", (status, out, err))
    sent = {device: int(count) for device, count in re.findall(r"task 0, verbs, (rxe\d) [^\n]*: (\d+) packets sent", err)}
    check("and both were in use", sent.keys() == {"rxe0", "rxe2"} and min(sent.values()) > 50, err)


def test_a_killed_process(lam):
    for kind in "rs":
        said = lam.survivor_says("./lam_killed", kind)
        check(f"a process is killed, {kind}: an error of MPI", said == "class 21\n", (said, lam.survivors_errors()))
        run(*lam.command("lamclean"))


def main():
    kinds = PacketKinds(OPCODES)
    with VerbsLam("", folder=sys.argv[1]) as lam:
        same_as_over_tcp(lam, kinds, "./lam_messages", ["OPENLAPI_VERBS_PACKETS=ud", *BULK], bulk_problem)
        same_as_over_tcp(lam, kinds, "./lam_fortran", ["OPENLAPI_VERBS_PACKETS=rc"], connection_problem)
        test_a_cable_is_pulled(lam)
        test_a_killed_process(lam)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
