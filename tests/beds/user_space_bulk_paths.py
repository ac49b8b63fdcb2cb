#!/usr/bin/env python3
"""Bulk transfers of 64 MiB between two tasks with two RDMA devices each: both carry, and one fails in the middle. Runs
inside the bed:

    tests/beds/soft-roce --devices 4 -- user_space_bulk_paths.py BUILD

Prints TAP."""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
# Task 0 has rxe0 and rxe2, task 1 has rxe1 and rxe3.
WITH_DEVICES = 'MP_LAPI_NETWORK=@2:1,rxe$PMIX_RANK:2,rxe$((PMIX_RANK + 2)) exec "$0" "$@"'
MIB = 1 << 20
LENGTH = 64


def start(mode, seconds):
    environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "verbs", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   "OPENLAPI_LIBRARY_FOLDER": os.path.join(BUILD, "openlapi")}
    process = subprocess.Popen([os.path.join(BUILD, "control/lapirun"), "-n", "2", "/bin/sh", "-c", WITH_DEVICES,
                                os.path.join(BUILD, "tests/system/api_bulk_paths_probe"), mode, str(seconds),
                                str(LENGTH)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    begun = process.stdout.readline()
    check(f"it begins ({mode})", begun == "begun 0\n", begun)
    return process


def end(process, what):
    """How many transfers there were, and the slowest one's seconds."""
    out, err = process.communicate(timeout=200)
    numbers = dict(re.findall(r"^(transfers|slowest|wrong) (\d+)$", out, re.MULTILINE))
    check(f"nothing is wrong: {what}", process.returncode == 0 and numbers.get("wrong") == "0", (process.returncode, out, err))
    received = [int(count) for count in re.findall(r"bulk transfers received +(\d+)$", out, re.MULTILINE)]
    failures = [int(count) for count in re.findall(r"in packets after a failure (\d+)$", out, re.MULTILINE)]
    print(f"# {what}: {numbers}, received in bulk {received}, in packets after a failure {failures}", flush=True)
    return int(numbers.get("transfers", 0)), int(numbers.get("slowest", 0)) / 1000, sum(received), out + err


def link(name, state):
    subprocess.run(["ip", "link", "set", name, state], check=True)


def carried():
    """Bytes over the cables of task 0's two devices, so far."""
    sums = []
    for port in (0, 2):
        folder = f"/sys/class/net/port{port}/statistics"
        sums.append(sum(int(open(f"{folder}/{way}_bytes").read()) for way in ("rx", "tx")))
    return sums


def since(before):
    return [now - then for now, then in zip(carried(), before)]


def test_both_carry():
    before = carried()
    # Where the machine is slow the first transfers begin while a path's first answers are late, over the other one.
    process = start("polling", 10)
    transfers, _, received, seen = end(process, "both carry")
    each = since(before)
    print(f"# MiB over the two: {[amount // MIB for amount in each]}")
    check("both carry a good part", min(each) > 0.25 * max(each) and sum(each) > transfers * LENGTH * MIB, (each, seen))
    check("the adapters read nearly all", 0 < received >= 0.9 * transfers, (received, transfers, seen))


def test_one_fails(mode, what, name):
    process = start(mode, 12)
    time.sleep(2)
    link(name, "down")
    time.sleep(2)
    before = carried()
    time.sleep(2)
    alone = since(before)
    link(name, "up")
    time.sleep(3)
    before = carried()
    time.sleep(2)
    together = since(before)
    transfers, slowest, received, seen = end(process, what)
    print(f"# MiB over the two while one was down: {[amount // MIB for amount in alone]}, and "
          f"{[amount // MIB for amount in together]} when it was back")
    check(f"the other one carries: {what}", max(alone) > 8 * MIB and min(alone) < 0.1 * max(alone), (alone, seen))
    check(f"it is used again: {what}", together[0] > 0.1 * together[1], (together, seen))
    check(f"nothing takes long: {what}", slowest < 10, (slowest, seen))
    check(f"most is read by the adapters: {what}", received >= 0.5 * transfers, (received, transfers, seen))


if __name__ == "__main__":
    test_both_carry()
    test_one_fails("polling", "a cable is pulled", "port0")
    test_one_fails("interrupt", "an adapter fails, and its queue pairs", "rdma0")
    test_one_fails("polling", "an adapter of the other task fails", "rdma3")
    sys.exit(finish())
