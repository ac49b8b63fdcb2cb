#!/usr/bin/env python3
"""Two tasks with two UDP adapters each, as in api_paths.py, under a mixed load while the first link goes and comes very
often. As root.

    API_FLAPS=200 api_flaps.py LAPIRUN PROGRAM_DIRECTORY

API_FLAPS: how often. Nothing may be lost, doubled or wrong, and the tasks' memory and descriptors may not grow between
the first tenth (100 at least) and the end.
"""
import os
import random
import subprocess
import sys
import time

from api_jobs import expect, expect_equal, main
from api_paths import Links, finish, need_namespaces

FLAPS = int(os.environ.get("API_FLAPS", "200"))
FIRST_FLAPS = max(FLAPS // 10, 100)
MOST_GROWTH = 256  # KiB


class Flapper:
    """Takes the first link away and brings it back, without a process for each time."""

    def __init__(self, links):
        self.links = links
        self.hosts = [subprocess.Popen(host.inside("ip", "-force", "-batch", "-"), stdin=subprocess.PIPE, text=True)
                      for host in links.hosts]
        self.hardware = [host.hardware_address("link0") for host in links.hosts]
        self.random = random.Random(7)

    def tell(self, host, words):
        self.hosts[host].stdin.write(words + "\n")
        self.hosts[host].stdin.flush()

    def vanish(self, host, hardware):
        self.tell(1 - host, f"neighbour replace {self.links.address(0, host)} lladdr {self.hardware[host]} dev link0 "
                            "nud permanent")
        self.tell(host, f"link set link0 address {hardware}")

    def away(self, host, told):
        """The link goes down at that host, or packets to it vanish and nobody is told."""
        if told:
            self.tell(host, "link set link0 down")
        else:
            self.vanish(host, "02:00:00:00:00:01")

    def back(self, host, told):
        if told:
            self.tell(host, "link set link0 up")
        else:
            self.vanish(host, self.hardware[host])

    def flap(self):
        """For some milliseconds, at one end."""
        host, told = self.random.randrange(2), self.random.random() < 0.7
        self.away(host, told)
        time.sleep(self.random.random() * 0.03)
        self.back(host, told)
        time.sleep(self.random.random() * 0.03)

    def end(self):
        for host in self.hosts:
            host.communicate()


def memory_and_descriptors(task):
    """KiB of memory that a task has, and how many files are open there."""
    with open(f"/proc/{task.pid}/status", encoding="ascii") as status:
        [memory] = [line.split()[1] for line in status if line.startswith("VmRSS:")]
    return int(memory), len(os.listdir(f"/proc/{task.pid}/fd"))


def test_flaps_take_neither_memory_nor_descriptors(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, "interrupt", seconds=0)
        flapper = Flapper(links)
        try:
            for _ in range(FIRST_FLAPS):
                flapper.flap()
            before = [memory_and_descriptors(task) for task in tasks]
            for _ in range(FLAPS - FIRST_FLAPS):
                flapper.flap()
            after = [memory_and_descriptors(task) for task in tasks]
        finally:
            flapper.end()
        [result, _] = finish(jobs, tasks)
        print(f"# {FLAPS} flaps, {result.value('operations')} operations; KiB and descriptors {before}, then {after}",
              flush=True)
        for early, late in zip(before, after):
            expect(late[0] - early[0] <= MOST_GROWTH, f"the memory of the tasks grows from {before} KiB to {after}")
            expect_equal(late[1], early[1], "descriptors")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
