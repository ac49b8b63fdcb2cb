#!/usr/bin/env python3
"""Two tasks with several RDMA devices each, one of whose cables is pulled. Runs inside the bed:

    tests/beds/soft-roce --devices 4 -- user_space_paths.py BUILD

Prints TAP."""
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from paths_probe import goes_on_while  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
ONE_DEVICE = 'MP_LAPI_NETWORK=@1:1,rxe$PMIX_RANK exec "$0" "$@"'
WITH_DEVICES = 'MP_LAPI_NETWORK=@2:1,rxe$PMIX_RANK:2,rxe$((PMIX_RANK + 2)) exec "$0" "$@"'


def job(*program, script=WITH_DEVICES, **variables):
    environment = {**os.environ, **variables, "MP_EUILIB": "us", "OPENLAPI_MODULES": "verbs", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   "OPENLAPI_LIBRARY_FOLDER": os.path.join(BUILD, "openlapi")}
    return subprocess.Popen([os.path.join(BUILD, "control/lapirun"), "-n", "2", "/bin/sh", "-c", script,
                             *(os.path.join(BUILD, word) if "/" in word else word for word in program)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment)


def cable(number, state):
    subprocess.run(["ip", "link", "set", f"port{number}", state], check=True)


def while_a_cable_is_out(process, after, lasting):
    """What the job has printed, at first and in all."""
    begun = process.stdout.readline()
    time.sleep(after)
    cable(0, "down")
    time.sleep(lasting)
    cable(0, "up")
    return begun, *process.communicate(timeout=200)


def opened(err):
    """By task, the devices that it opens."""
    devices = {}
    for task, device in re.findall(r"over a port\. task ([0-9]+), verbs (rxe[0-9]+) port 1", err):
        devices.setdefault(int(task), []).append(device)
    return devices


def chosen(**variables):
    process = job("api/lapi_info", "--job", script='exec "$0" "$@"', **variables)
    _, err = process.communicate(timeout=100)
    return (opened(err), err) if process.returncode == 0 else ({}, err)


def test_devices_are_chosen():
    """All on one network, and then two on another."""
    for variables, wanted in (({}, {0: ["rxe0"], 1: ["rxe1"]}), ({"MP_EUIDEVICE": "sn_single"}, {0: ["rxe0"], 1: ["rxe1"]}),
                              ({"MP_INSTANCES": "2"}, {0: ["rxe0", "rxe1"], 1: ["rxe1", "rxe2"]}),
                              ({"MP_EUIDEVICE": "sn_all"}, {0: ["rxe0"], 1: ["rxe1"]})):
        devices, seen = chosen(**variables)
        check(f"one network: {variables} opens {wanted}", devices == wanted, seen)
    devices, seen = chosen(MP_EUIDEVICE="sn_single", MP_INSTANCES="max")
    check("one network: all devices are opened", [len(set(those)) for those in devices.values()] == [4, 4], seen)
    for device in (2, 3):
        subprocess.run(["ip", "address", "del", f"10.77.0.{device + 1}/24", "dev", f"rdma{device}"], check=True)
        subprocess.run(["ip", "address", "add", f"10.78.0.{device + 1}/24", "dev", f"rdma{device}"], check=True)
    for variables, wanted in (({"MP_EUIDEVICE": "sn_all"}, {0: ["rxe0", "rxe2"], 1: ["rxe1", "rxe3"]}),
                              ({"MP_EUIDEVICE": "sn_single", "MP_INSTANCES": "4"},
                               {0: ["rxe0", "rxe1"], 1: ["rxe1", "rxe0"]})):
        devices, seen = chosen(**variables)
        check(f"two networks: {variables} opens {wanted}", devices == wanted, seen)


def test_chosen_devices_carry_data_and_take_over():
    process = job("tests/system/api_paths_probe", "polling", "8", script='exec "$0" "$@"', MP_EUIDEVICE="sn_all")
    begun, out, err = while_a_cable_is_out(process, after=2, lasting=2)
    check("chosen devices lose nothing", begun == "begun 0\n" and process.returncode == 0 and
          "wrong 0" in out.splitlines(), (process.returncode, begun, out, err))
    sent = dict(re.findall(r"verbs, (rxe[0-9]) port 1[^\n]*: ([0-9]+) packets sent", err))
    check("all chosen devices have carried packets", sorted(sent) == ["rxe0", "rxe1", "rxe2", "rxe3"] and
          min(int(packets) for packets in sent.values()) > 100, err)
    check("the failure of a chosen device is told", re.search(r"adapter 0 \(verbs, rxe0 [^\n]* has failed: ", err), err)


def test_a_task_without_any_device_says_so():
    process = job("tests/system/api_paths_probe", "polling", "60", script='exec "$0" "$@"', MP_EUIDEVICE="sn_all",
                  API_PATHS_TIMEOUT="10")
    begun = process.stdout.readline()
    for device in (0, 2):
        subprocess.run(["ip", "link", "set", f"rdma{device}", "down"], check=True)
    out, err = process.communicate(timeout=100)
    check("all devices of a task are down", begun == "begun 0\n" and process.returncode != 0 and ": error 435: " in err,
          (process.returncode, begun, out, err))


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
    begun, out, err = while_a_cable_is_out(process, after=1, lasting=3)
    seen = (process.returncode, begun, out, err)
    check("nothing is lost, doubled or wrong", begun == "begun 0\n" and process.returncode == 0 and
          "wrong 0" in out.splitlines(), seen)
    told = [line for line in err.splitlines() if line.startswith("openlapi: task 0 to task 1: adapter 0 (verbs, rxe0 ")]
    # The other one does not answer at that moment, perhaps: the machine may be late.
    taken = ("; messages take adapter 1 (verbs, rxe2 ", "; no adapter serves")
    check("the failure is told", any(" has failed: " in line and any(words in line for words in taken)
                                     for line in told), err)
    second = [line for line in err.splitlines() if "verbs, rxe2 " in line and "packets sent" in line]
    check("the other device has carried packets", len(second) == 1 and ": 0 packets sent" not in second[0], err)


def test_different_devices_are_dead_at_the_two_ends(how, **variables):
    """Task 0 keeps rxe2, its second one, and task 1 rxe1, its first one."""
    process = job("tests/system/api_paths_probe", "polling", "0", API_PATHS_TIMEOUT="60", **variables)
    good, goes_on, err, seen = goes_on_while(process, lambda: [cable(number, "down") for number in (0, 3)])
    for number in (0, 3):
        cable(number, "up")
    check(f"{how}: the devices that are left reach each other", goes_on, seen)
    check(f"{how}: nothing is lost when different devices fail at the two ends", good, seen)
    check(f"{how}: it is told where a path leads", re.search(r"adapter 1 \(verbs, rxe2 .* to adapter 0 there\)", err), seen)


def while_gids_change(pause, **how):
    """Of the first device of each task in turn, with the address of its interface."""
    process = job("tests/system/api_paths_probe", "polling", "0", API_PATHS_TIMEOUT="60", **how)

    def move():
        for device in range(2):
            set_address(device, device + 101, device + 1)
            time.sleep(pause)

    good, goes_on, err, seen = goes_on_while(process, move)
    for device in range(2):
        set_address(device, device + 1, device + 101)
    return good and goes_on, err, seen


def tell_each_other(task, err):
    return (re.search(rf"task {task}: adapter 0 \(verbs, rxe{task} [^\n]* has another address", err) and
            f"openlapi: task {1 - task}: an adapter of task {task} has another address" in err)


def test_gids_change():
    """The other device serves meanwhile: the first one has some seconds."""
    good, err, seen = while_gids_change(5)
    check("GIDs that change lose nothing", good, seen)
    for task in range(2):
        check(f"task {task} says that its device has another address, and the other one that it knows",
              tell_each_other(task, err), err)
        paths = [line for line in err.splitlines()
                 if line.startswith(f"openlapi: task {task} to task {1 - task}: adapter 0 (verbs, rxe{task} port 1")
                 and " of the bytes, " in line]
        # A path may be silent for some milliseconds at any time, and so at the end.
        check(f"task {task} uses it", len(paths) == 1 and not re.search(r": silent for [0-9.]+ s,", paths[0]), err)


def test_the_gid_of_the_only_device_changes():
    good, err, seen = while_gids_change(1, script=ONE_DEVICE)
    check("GIDs of only devices that change lose nothing", good, seen)
    for task in range(2):
        check(f"task {task} says that its only device has another address, and the other one that it knows",
              tell_each_other(task, err), err)


def set_address(device, new, former):
    for words in (["del", f"10.77.0.{former}/24"], ["add", f"10.77.0.{new}/24"]):
        subprocess.run(["ip", "address", *words, "dev", f"rdma{device}"], check=True)


if __name__ == "__main__":
    test_both_devices_are_paths()
    test_a_cable_is_pulled()
    test_different_devices_are_dead_at_the_two_ends("packets")
    test_different_devices_are_dead_at_the_two_ends("bulk", MP_USE_BULK_XFER="yes", MP_BULK_MIN_MSG_SIZE="20000")
    test_gids_change()
    test_the_gid_of_the_only_device_changes()
    test_devices_are_chosen()
    test_chosen_devices_carry_data_and_take_over()
    test_a_task_without_any_device_says_so()
    sys.exit(finish())
