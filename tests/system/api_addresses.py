#!/usr/bin/env python3
"""Two tasks with UDP adapters whose addresses change under load, over links as in api_paths.py. As root.

    api_addresses.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import signal
import subprocess
import sys
import time

from api_jobs import expect, expect_equal, main
from api_paths import Links, finish, need_namespaces, packets

PAUSE = 1.2  # seconds in which a path is used again, without notice


def other_address(link, host, times=1):
    """Of the same network."""
    return f"10.{77 + link}.0.{1 + host + 100 * times}"


def move(links, link, host, times=1, first=False):
    """To another address, which comes after the former one has gone, or `first`."""
    [former, new] = [links.address(link, host) if times == 1 else other_address(link, host, times - 1),
                     other_address(link, host, times)]
    if first:  # the kernel would take away the second one of a network with the first
        keep = ["sysctl", "-qw", f"net.ipv4.conf.link{link}.promote_secondaries=1"]
        subprocess.run(links.hosts[host].inside(*keep), check=True)
    changes = [["del", f"{former}/24"], ["add", f"{new}/24"]]
    for words in reversed(changes) if first else changes:
        links.hosts[host].ip("address", *words, "dev", f"link{link}")


def changes(result, what):
    return [line for line in result.err.splitlines() if "has another address" in line and what in line]


def expect_told(results, link, host):
    """One line in the task whose address has changed, and one in the other one."""
    port = 40000 + host
    text = f"{other_address(link, host)} port {port}, before {Links.address(link, host)} port {port}"
    for task, result in enumerate(results):
        whose = f"adapter {link} (" if task == host else f"an adapter of task {host} "
        told = [line for line in changes(result, text) if line.startswith(f"openlapi: task {task}: {whose}")]
        expect_equal(len(told), 1, result)


def expect_used(results, link, moved):
    """What the tasks say at their end of the packets over the link, by the addresses that they have then."""
    for host, result in enumerate(results):
        address = other_address(link, host) if host in moved else Links.address(link, host)
        sent, received = packets(result, address)
        expect(sent > 100 and received > 100, result)


def test_the_address_of_one_adapter_changes_at_each_host(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=4, MP_INFOLEVEL="2")
        for host in range(2):
            time.sleep(PAUSE)
            move(links, 0, host, first=host == 1)
        results = finish(jobs, tasks)
        for host in range(2):
            expect_told(results, 0, host)
        expect_used(results, 0, [0, 1])


def test_different_ones_change_at_both_hosts_at_once(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, "interrupt", seconds=4, MP_INFOLEVEL="2")
        time.sleep(0.5)
        for host in range(2):
            move(links, host, host)
        results = finish(jobs, tasks)
        for host in range(2):
            expect_told(results, host, host)


def test_a_path_with_a_new_address_carries_alone(jobs):
    """Nothing but what comes from there says where the adapter is."""
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=5, MP_INFOLEVEL="2")
        time.sleep(0.5)
        links.set(1, "down")
        time.sleep(0.5)
        move(links, 0, 0)
        time.sleep(PAUSE)
        move(links, 0, 1)
        results = finish(jobs, tasks)
        expect_used(results, 0, [0, 1])


def test_both_of_a_task_change_one_after_the_other(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, "interrupt", seconds=5, MP_INFOLEVEL="2")
        for link in range(2):
            time.sleep(PAUSE)
            move(links, link, 1)
        results = finish(jobs, tasks)
        for link in range(2):
            expect_told(results, link, 1)
            expect_used(results, link, [1])


def test_the_only_adapter_gets_another_address(jobs):
    need_namespaces()
    with Links(1) as links:
        tasks = links.start(jobs, "interrupt", seconds=5, MP_INFOLEVEL="2")
        for times in (1, 2):
            for host in range(2):
                time.sleep(0.8)
                move(links, 0, host, times)
        finish(jobs, tasks)


def test_who_waits_for_the_other_one_learns_it_too(jobs):
    """A task that has nothing to send, whose only adapter gets another address."""
    need_namespaces()
    with Links(1) as links:
        tasks = links.start(jobs, "interrupt", seconds=3)
        time.sleep(0.5)
        tasks[0].send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        move(links, 0, 1)
        time.sleep(0.2)
        tasks[0].send_signal(signal.SIGCONT)
        finish(jobs, tasks)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
