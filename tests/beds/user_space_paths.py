#!/usr/bin/env python3
"""Two tasks with several RDMA devices each, one of whose cables is pulled. Runs inside the bed:

    tests/beds/soft-roce --devices 4 -- user_space_paths.py BUILD

Prints TAP."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from paths_probe import Job, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
ONE_DEVICE = 'MP_LAPI_NETWORK=@1:1,rxe$PMIX_RANK exec "$0" "$@"'
WITH_DEVICES = 'MP_LAPI_NETWORK=@2:1,rxe$PMIX_RANK:2,rxe$((PMIX_RANK + 2)) exec "$0" "$@"'


MANY = 30  # times ten operations: some hundred packets over each device that is in use


def prepared(*program, script=WITH_DEVICES, **variables):
    """The words of a job, and its environment."""
    environment = {**os.environ, **variables, "MP_EUILIB": "us", "OPENLAPI_MODULES": "verbs", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   "OPENLAPI_LIBRARY_FOLDER": os.path.join(BUILD, "openlapi")}
    return [os.path.join(BUILD, "control/lapirun"), "-n", "2", "/bin/sh", "-c", script,
            *(os.path.join(BUILD, word) if "/" in word else word for word in program)], environment


def job(script=WITH_DEVICES, **variables):
    """Operations of all kinds, until it is told to end."""
    variables = {"API_PATHS_TIMEOUT": "60", **variables}
    return Job(*prepared("tests/system/api_paths_probe", "polling", "0", script=script, **variables))


def ended(*program, script=WITH_DEVICES, **variables):
    """A job that ends by itself."""
    words, environment = prepared(*program, script=script, **variables)
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
                          check=False)


def cable(number, state):
    subprocess.run(["ip", "link", "set", f"port{number}", state], check=True)


def told(task, device, what):
    """A pattern of the line that a task's first adapter has failed, or serves again."""
    return rf"openlapi: task {task} to task {1 - task}: adapter 0 \(verbs, {device} [^\n]* {what}: "


def while_a_cable_is_out(running):
    """That of rxe0. Whether the job goes on before, meanwhile and afterwards, and says so."""
    before = running.goes_on(MANY)
    cable(0, "down")
    meanwhile = running.has_said(told(0, "rxe0", "has failed")) and running.goes_on(MANY)
    cable(0, "up")
    return before and meanwhile and running.has_said(told(0, "rxe0", "serves again")) and running.goes_on()


def opened(err):
    """By task, the devices that it opens."""
    devices = {}
    for task, device in re.findall(r"over a port\. task ([0-9]+), verbs (rxe[0-9]+) port 1", err):
        devices.setdefault(int(task), []).append(device)
    return devices


def chosen(**variables):
    done = ended("api/lapi_info", "--job", script='exec "$0" "$@"', **variables)
    return (opened(done.stderr), done.stderr) if done.returncode == 0 else ({}, done.stderr)


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
    running = job(script='exec "$0" "$@"', MP_EUIDEVICE="sn_all")
    check("a chosen device fails, which is told, and serves again", while_a_cable_is_out(running), running)
    check("chosen devices lose nothing", running.ends_well(), running)
    sent = dict(re.findall(r"verbs, (rxe[0-9]) port 1[^\n]*: ([0-9]+) packets sent", running.said()))
    check("all chosen devices have carried packets", sorted(sent) == ["rxe0", "rxe1", "rxe2", "rxe3"] and
          min(int(packets) for packets in sent.values()) > 100, running)


def test_a_task_without_any_device_says_so():
    running = job(script='exec "$0" "$@"', MP_EUIDEVICE="sn_all", API_PATHS_TIMEOUT="10")
    for device in (0, 2):
        subprocess.run(["ip", "link", "set", f"rdma{device}", "down"], check=True)
    check("all devices of a task are down", running.fails() and ": error 435: " in running.said(), running)
    check("which is told once of each", not running.told_twice(), running)


def test_both_devices_are_paths():
    done = ended("api/lapi_info", "--job", "--json")
    seen = f"{done.returncode}\n{done.stdout}{done.stderr}"
    rows = json.loads(done.stdout)["job"] if done.returncode == 0 else []
    for task, row in enumerate(rows):
        names = [f"adapter {adapter} (verbs, rxe{task + 2 * adapter} port 1" for adapter in range(2)]
        shown = [path["path"] for path in row["paths"]]
        check(f"task {task} has two paths to the other", len(shown) == 2 and
              all(path.startswith(name) for path, name in zip(shown, names)), seen)
    check("both tasks tell", len(rows) == 2, seen)


def test_a_cable_is_pulled():
    running = job()
    check("a cable is pulled, which is told, and put back", while_a_cable_is_out(running), running)
    check("nothing is lost, doubled or wrong", running.ends_well(), running)
    second = [line for line in running.said().splitlines() if "verbs, rxe2 " in line and "packets sent" in line]
    check("the other device has carried packets", len(second) == 1 and ": 0 packets sent" not in second[0], running)


def test_different_devices_are_dead_at_the_two_ends(how, **variables):
    """Task 0 keeps rxe2, its second one, and task 1 rxe1, its first one."""
    running = job(**variables)
    before = running.goes_on()
    for number in (0, 3):
        cable(number, "down")
    check(f"{how}: the devices that are left reach each other", before and running.goes_on(2), running)
    check(f"{how}: nothing is lost when different devices fail at the two ends", running.ends_well(), running)
    check(f"{how}: it is told where a path leads", running.has_said(r"adapter 1 \(verbs, rxe2 .* to adapter 0 there\)"), running)
    for number in (0, 3):
        cable(number, "up")


def says_of_addresses(task):
    """Patterns: what it says of its own, and what the other one says of it."""
    return (rf"task {task}: adapter 0 \(verbs, rxe{task} [^\n]* has another address",
            f"openlapi: task {1 - task}: an adapter of task {task} has another address")


def uses(running, device):
    """Whether packets leave over it, sooner or later; probes of a path that is silent are rare."""
    counter = f"/sys/class/infiniband/rxe{device}/ports/1/hw_counters/sent_pkts"

    def leave():
        before = int(open(counter).read())
        return not running.goes_on(2) or int(open(counter).read()) - before >= 20

    return wait_until(leave) and not running.has_ended()


def test_gids_change(which, **how):
    """Of the first device of each task in turn, with the address of its interface."""
    running = job(**how)
    check(f"GIDs of {which} change: it goes on before", running.goes_on(), running)
    for device in range(2):
        set_address(device, device + 101, device + 1)
        check(f"task {device} says that its device, of {which}, has another address, and the other one that it knows",
              running.has_said(*says_of_addresses(device)), running)
        check(f"and task {device} uses it", uses(running, device), running)
    check(f"GIDs of {which} that change lose nothing", running.goes_on(2) and running.ends_well(), running)
    for device in range(2):
        set_address(device, device + 1, device + 101)


def set_address(device, new, former):
    for words in (["del", f"10.77.0.{former}/24"], ["add", f"10.77.0.{new}/24"]):
        subprocess.run(["ip", "address", *words, "dev", f"rdma{device}"], check=True)


if __name__ == "__main__":
    test_both_devices_are_paths()
    test_a_cable_is_pulled()
    test_different_devices_are_dead_at_the_two_ends("packets")
    test_different_devices_are_dead_at_the_two_ends("bulk", MP_USE_BULK_XFER="yes", MP_BULK_MIN_MSG_SIZE="20000")
    test_gids_change("first devices")
    test_gids_change("only devices", script=ONE_DEVICE)
    test_devices_are_chosen()
    test_chosen_devices_carry_data_and_take_over()
    test_a_task_without_any_device_says_so()
    sys.exit(finish())
