#!/usr/bin/env python3
"""Two tasks with two RDMA devices each, one of whose cables is pulled. Runs inside the bed:

    tests/beds/soft-roce --devices 4 -- user_space_paths.py BUILD

Prints TAP."""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
WITH_DEVICES = 'MP_LAPI_NETWORK=@2:1,rxe$PMIX_RANK:2,rxe$((PMIX_RANK + 2)) exec "$0" "$@"'


def job(*program):
    environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "verbs", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   "OPENLAPI_LIBRARY_FOLDER": os.path.join(BUILD, "openlapi")}
    return subprocess.Popen([os.path.join(BUILD, "control/lapirun"), "-n", "2", "/bin/sh", "-c", WITH_DEVICES,
                             *(os.path.join(BUILD, word) if "/" in word else word for word in program)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def cable(number, state):
    subprocess.run(["ip", "link", "set", f"port{number}", state], check=True)


def test_both_devices_are_paths():
    process = job("api/lapi_info", "--job", "--json")
    out, err = process.communicate(timeout=100)
    rows = json.loads(out)["job"] if process.returncode == 0 else []
    for task, row in enumerate(rows):
        names = [f"adapter {adapter} (verbs, rxe{task + 2 * adapter} port 1" for adapter in range(2)]
        shown = [path["path"] for path in row["paths"]]
        check(f"task {task} has two paths to the other", len(shown) == 2 and
              all(path.startswith(name) for path, name in zip(shown, names)), out + err)
    check("both tasks tell", len(rows) == 2, out + err)


def test_a_cable_is_pulled():
    process = job("tests/system/api_paths_probe", "polling", "8")
    begun = process.stdout.readline()
    time.sleep(1)
    cable(0, "down")
    time.sleep(3)
    cable(0, "up")
    out, err = process.communicate(timeout=200)
    seen = (process.returncode, begun, out, err)
    check("nothing is lost, doubled or wrong", begun == "begun 0\n" and process.returncode == 0 and
          "wrong 0" in out.splitlines(), seen)
    told = [line for line in err.splitlines() if line.startswith("openlapi: task 0 to task 1: adapter 0 (verbs, rxe0 ")]
    check("the failure is told", any(" has failed: " in line and "; messages take adapter 1 (verbs, rxe2 " in line
                                     for line in told), err)
    second = [line for line in err.splitlines() if "verbs, rxe2 " in line and "packets sent" in line]
    check("the other device has carried packets", len(second) == 1 and ": 0 packets sent" not in second[0], err)


if __name__ == "__main__":
    test_both_devices_are_paths()
    test_a_cable_is_pulled()
    sys.exit(finish())
