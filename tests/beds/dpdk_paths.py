#!/usr/bin/env python3
"""Two tasks with two DPDK ports each, one of which loses its link. Runs inside the bed:

    tests/beds/dpdk-ports 4 --kind af_packet -- dpdk_paths.py BUILD    a task has its own port and that of task + 2
    tests/beds/dpdk-ports 2 --kind memif -- dpdk_paths.py BUILD        and another interface on the same socket

Prints TAP."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from paths_probe import Job  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
KIND = os.environ["DPDK_PORTS_KIND"]
MANY = 30  # times ten operations: some hundred packets over each port that is in use


def arguments(task):
    """EAL's arguments, with two devices."""
    own = os.environ[f"DPDK_PORTS_EAL_{task}"]
    device = re.search(r"--vdev=(\S+)", own).group(1)
    if KIND == "memif":
        second = re.sub(r"id=([0-9]+)", lambda id_: f"id={int(id_.group(1)) + 1000}", device, 1)
        return own + " --vdev=" + re.sub(r"net_memif[0-9]+", "net_memif9", second, 1)
    second = re.search(r"--vdev=(\S+)", os.environ[f"DPDK_PORTS_EAL_{task + 2}"]).group(1)
    return own + " --vdev=" + second.replace("net_af_packet0", "net_af_packet1")


def prepared(*program, **variables):
    """The words of a job, and its environment."""
    environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "dpdk", "LAPI_USE_SHM": "no", "MP_INFOLEVEL": "2",
                   **variables, "ARGUMENTS_0": arguments(0), "ARGUMENTS_1": arguments(1)}
    script = 'eval "export OPENLAPI_DPDK_ARGUMENTS=\\"\\$ARGUMENTS_$PMIX_RANK\\""; '
    if KIND == "memif":
        script += 'export MP_LAPI_NETWORK=@2:1,net_memif$((1 - PMIX_RANK)):2,net_memif9; '
    script += 'exec "$0" "$@"'
    return [os.path.join(BUILD, "control/lapirun"), "-n", "2", "/bin/sh", "-c", script,
            *(os.path.join(BUILD, word) if "/" in word else word for word in program)], environment


def job(**variables):
    """Operations of all kinds, until it is told to end."""
    return Job(*prepared("tests/system/api_paths_probe", "polling", "0", **{"API_PATHS_TIMEOUT": "60", **variables}))


def opened(**variables):
    """By task, the ports of each adapter that it opens; and all that was said."""
    words, environment = prepared("tests/system/api_init_probe", **variables)
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
                          check=False)
    adapters = {}
    for task, ports in re.findall(r"over a port\. task ([0-9]+), dpdk ([^(\n]*) \(", done.stderr):
        adapters.setdefault(int(task), []).append(ports)
    return (adapters if done.returncode == 0 else {}), f"{done.returncode}\n{done.stdout}{done.stderr}"


def check_choice(wanted, **variables):
    adapters, seen = opened(**variables)
    check(f"{variables} opens {wanted}", adapters == {0: wanted, 1: wanted}, seen)


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def test_ports_are_chosen():
    both = ["net_af_packet0", "net_af_packet1"]
    check_choice(["net_af_packet0 and net_af_packet1"])
    check_choice(both, MP_INSTANCES="2")
    check_choice(both[:1], MP_EUIDEVICE="sn_all")
    for port in range(4):
        ip(f"address add 10.{port // 2}.0.{port + 1}/24 dev dpdk{port}")
    check_choice(both, MP_EUIDEVICE="sn_all")
    check_choice(both[:1], MP_EUIDEVICE="sn_single", MP_INSTANCES="max")
    ip("link set dpdk0 down")
    adapters, seen = opened(MP_EUIDEVICE="sn_all")
    check("a port that is down is not opened, and the others meet", adapters == {0: both[1:], 1: both}, seen)
    ip("link set dpdk0 up")


def a_port_fails(running):
    """Whether it is told that one does, and serves again."""
    ip("link set dpdk0 down")
    told = running.has_said(r"adapter 0 \(dpdk, [^\n]* has failed: ") and running.goes_on(MANY)
    ip("link set dpdk0 up")
    return told and running.has_said(r"adapter 0 \(dpdk, [^\n]* serves again")


def test_both_ports_carry_data(**variables):
    running = job(**variables)
    check("it goes on at first", running.goes_on(MANY), running)
    if KIND == "af_packet":
        check("the failure of a port and its end are told", a_port_fails(running), running)
    check("nothing is lost, doubled or wrong", running.goes_on(MANY) and running.ends_well(), running)
    sent = re.findall(r"dpdk, (net_\S+) [^\n]*: ([0-9]+) packets sent", running.said())
    check("both ports of both tasks have carried packets", len(sent) == 4 and
          min(int(packets) for _, packets in sent) > 100, running)


def test_different_ports_are_dead_at_the_two_ends():
    """Task 0 keeps dpdk2, its second one, and task 1 dpdk1, its first one."""
    running = job(MP_INSTANCES="2")
    before = running.goes_on()
    for port in (0, 3):
        ip(f"link set dpdk{port} down")
    check("the ports that are left reach each other", before and running.goes_on(2), running)
    for port in (0, 3):
        ip(f"link set dpdk{port} up")
    check("nothing is lost when different ports fail at the two ends", running.ends_well(), running)


def set_hardware_address(port, new, former, only):
    """`only`: no frames for other addresses arrive, as an adapter has it, which the kernel's virtual ones do not."""
    ip(f"link set dpdk{port} address {new}")
    state = "off" if only else "on"
    for words in (f"link set dev bus{port} learning {state} flood {state}", f"fdb del {former} dev bus{port} master",
                  f"fdb replace {new} dev bus{port} master static"):
        subprocess.run(["bridge", *words.split()], check=not words.startswith("fdb del"), stderr=subprocess.DEVNULL)


def test_hardware_addresses_change(how, **variables):
    """Of the first port of each task in turn."""
    former = os.environ["DPDK_PORTS_MACS"].split()
    running = job(**variables)
    check(f"{how}: it goes on at first", running.goes_on(), running)
    for task in range(2):
        set_hardware_address(task, f"02:0d:00:00:07:0{task}", former[task], only=True)
        check(f"{how}: task {task} says that its port has another address, and the other one that it knows",
              running.has_said(rf"task {task}: adapter 0 \(dpdk, [^\n]* has another address",
                               f"openlapi: task {1 - task}: an adapter of task {task} has another address"), running)
        check(f"{how}: and they go on", running.goes_on(2), running)
    for task in range(2):
        set_hardware_address(task, former[task], f"02:0d:00:00:07:0{task}", only=False)
    check(f"{how}: hardware addresses that change lose nothing", running.ends_well(), running)


def test_a_task_without_any_link_says_so():
    running = job(MP_EUIDEVICE="sn_all", API_PATHS_TIMEOUT="10")
    for port in (0, 2):
        ip(f"link set dpdk{port} down")
    check("all adapters of a task are down", running.fails() and ": error 435: " in running.said(), running)
    check("which is told once of each", not running.told_twice(), running)
    for port in (0, 2):
        ip(f"link set dpdk{port} up")


if __name__ == "__main__":
    if KIND == "memif":
        test_both_ports_carry_data()
    else:
        test_different_ports_are_dead_at_the_two_ends()
        test_ports_are_chosen()
        test_both_ports_carry_data(MP_EUIDEVICE="sn_all")
        test_hardware_addresses_change("the only port", MP_EUIDEVICE="sn_single", MP_INSTANCES="max")
        test_hardware_addresses_change("one of two ports", MP_EUIDEVICE="sn_all")
        test_a_task_without_any_link_says_so()
    sys.exit(finish())
