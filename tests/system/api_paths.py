#!/usr/bin/env python3
"""Two tasks with two UDP adapters each, in two network namespaces with two links between them that are taken away and
come back, under load. As root.

    api_paths.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

from api_jobs import Skip, expect, expect_equal, free_ports, main

LAPI_ERR_NO_CONNECTIVITY, LAPI_ERR_ADAPTERS_DOWN = 434, 435
SECONDS = 6  # of load
PORT = 40000
LINKS_AND_ADDRESSES = 0x111  # RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR


class Host:
    """A network namespace, which lives as long as a process in it."""

    def __init__(self, number):
        self.number = number
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()

    def inside(self, *command):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--", *command]

    def ip(self, *words):
        subprocess.run(self.inside("ip", *words), check=True)

    def show(self, interface):
        shown = subprocess.run(self.inside("ip", "-json", "link", "show", interface), check=True, capture_output=True)
        return json.loads(shown.stdout)[0]

    def hardware_address(self, interface):
        return self.show(interface)["address"]

    def wait_for_carrier(self, interface):
        """The kernel may say a while after both ends are up that they are."""
        until = time.monotonic() + 10
        while self.show(interface)["operstate"] != "UP":
            expect(time.monotonic() < until, f"{interface} does not come up")
            time.sleep(0.01)

    def end(self):
        self.holder.kill()
        self.holder.communicate()


class Links:
    """Two hosts and the links between them, numbered from 0."""

    def __init__(self, count=2):
        self.hosts = [Host(0), Host(1)]
        for link in range(count):
            self.lay(link)
        for link in range(count):
            for host in self.hosts:
                host.wait_for_carrier(f"link{link}")
        self.count = count
        self.hardware = {}

    def lay(self, link):
        self.connect(link)
        for host in self.hosts:
            host.ip("address", "add", f"{self.address(link, host.number)}/24", "dev", f"link{link}")
            host.ip("link", "set", f"link{link}", "up")

    def tear_out(self, link):
        self.hosts[0].ip("link", "delete", f"link{link}")

    def connect(self, link):
        subprocess.run(["ip", "link", "add", f"link{link}", "netns", str(self.hosts[0].holder.pid), "type", "veth",
                        "peer", "name", f"link{link}", "netns", str(self.hosts[1].holder.pid)], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.end()

    @staticmethod
    def address(link, host):
        return f"10.{77 + link}.0.{1 + host}"

    def set(self, link, state, host=0):
        self.hosts[host].ip("link", "set", f"link{link}", state)

    def black_hole(self, link, on, host=1):
        """What is sent to that host over the link does not arrive, and nobody is told: its hardware address is another
        one than the neighbour knows."""
        if on:
            for other in self.hosts:
                shown = other.hardware_address(f"link{link}")
                neighbour = self.hosts[1 - other.number]
                neighbour.ip("neighbour", "replace", self.address(link, other.number), "lladdr", shown, "dev",
                             f"link{link}", "nud", "permanent")
                if other.number == host:
                    self.hardware[link, host] = shown
            self.hosts[host].ip("link", "set", f"link{link}", "address", "02:00:00:00:00:01")
        else:
            self.hosts[host].ip("link", "set", f"link{link}", "address", self.hardware[link, host])

    def paths(self):
        return "/".join(",".join(f"{self.address(link, host)}:{PORT + host}" for host in range(2))
                        for link in range(self.count))

    def start(self, jobs, mode="polling", seconds=SECONDS, hosts=2, **variables):
        tasks = []
        jobs.partition += 1
        for host in self.hosts[:hosts]:
            own = ":".join(f"{self.address(link, host.number)},link{link}" for link in range(self.count))
            environment = jobs.task_environment(2, host.number, LAPI_USE_SHM="no", API_PATHS=self.paths(),
                                                MP_LAPI_INET_ADDR=f"@{self.count}:{own}", **variables)
            tasks.append(jobs.start(host.inside(jobs.program("api_paths_probe"), mode, str(seconds)), environment))
        if hosts == 2:
            expect_equal(tasks[0].stdout.readline(), "begun 0\n", "of task 0")
        return tasks


class Switch(Links):
    """Two hosts with so many adapters on one network."""

    def __init__(self, count):
        self.middle = Host(2)
        self.middle.ip("link", "add", "switch", "type", "bridge")
        self.middle.ip("link", "set", "switch", "up")
        super().__init__(count)

    def connect(self, link):
        for host in self.hosts:
            port = f"port{host.number}{link}"
            subprocess.run(["ip", "link", "add", f"link{link}", "netns", str(host.holder.pid), "type", "veth",
                            "peer", "name", port, "netns", str(self.middle.holder.pid)], check=True)
            self.middle.ip("link", "set", port, "master", "switch", "up")
            for name in ("arp_ignore=1", "arp_announce=2"):  # each answers for its own address only
                subprocess.run(host.inside("sysctl", "-qw", f"net.ipv4.conf.all.{name}"), check=True)

    def __exit__(self, *_):
        super().__exit__()
        self.middle.end()

    @staticmethod
    def address(link, host):
        return f"10.77.0.{1 + host + 10 * link}"


def need_namespaces():
    if os.geteuid() != 0:
        raise Skip("not root")


def finish(jobs, tasks):
    """The results of all tasks, when nothing was lost, doubled or wrong."""
    try:
        results = [jobs.finish(task) for task in tasks]
    finally:
        for task in tasks:
            if task.poll() is None:
                task.kill()
                task.communicate()
    for result in results:
        expect_equal(result.status, 0, result)
    expect_equal(results[0].value("wrong"), 0, results[0])
    expect(results[0].value("operations") > 20, results[0])
    return results


def packets(result, address):
    """What a task says at its end of the packets over its adapter."""
    [line] = [line for line in result.err.splitlines() if f"udp, {address}:" in line]
    words = line.split()
    return int(words[words.index("packets") - 1]), int(words[words.index("received") - 1])


def test_both_adapters_carry_what_is_long(jobs):
    need_namespaces()
    with Links() as links:
        results = finish(jobs, links.start(jobs, seconds=1, MP_INFOLEVEL="2"))
        for host, result in enumerate(results):
            for link in range(2):
                sent, received = packets(result, links.address(link, host))
                expect(sent > 100 and received > 100, result)


def path(links, link, host):
    """A path of that host, as people are told of it."""
    other = 1 - host
    return f"adapter {link} (udp, {links.address(link, host)} to {links.address(link, other)} port {PORT + other})"


def changes(result):
    """What a task says of paths that have failed or serve again."""
    return [line for line in result.err.splitlines() if "has failed: " in line or "serves again: " in line]


def test_a_list_has_an_entry_for_each_task_and_adapter(jobs):
    need_namespaces()
    with Links() as links:
        links.set(0, "down")
        results = finish(jobs, links.start(jobs, seconds=1, MP_INFOLEVEL="2", API_PATHS_LIST="4"))
        expect(packets(results[0], links.address(1, 0))[0] > 100, results[0])
    with Links() as links:
        [task] = links.start(jobs, seconds=1, hosts=1, API_PATHS_LIST="3")
        result = jobs.finish(task)
        expect(result.status != 0 and "num_udp_addr is 3, the job has 2 tasks: one address for each, or 4 for the 2 "
               "adapters of each" in result.err, result)


def test_further_adapters_need_no_entries_in_the_list(jobs):
    """The tasks tell each other where they are: both carry, and when the first one fails the other one does alone."""
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=0, MP_INFOLEVEL="2", API_PATHS_LIST="2")
        time.sleep(0.5)
        links.set(0, "down")
        time.sleep(0.5)
        results = finish(jobs, tasks)
        for host, result in enumerate(results):
            for link in range(2):
                sent, received = packets(result, links.address(link, host))
                expect(sent > 100 and received > 100, result)
            there = f"adapter 1 of task {1 - host} is there now: {links.address(1, 1 - host)} port {PORT + 1 - host}\n"
            expect_equal(result.err.count(there), 1, result)
            expect_equal([line for line in changes(result) if f"adapter 1 (udp, {links.address(1, host)} " in
                          line.split(" has failed: ")[0].split(" serves again: ")[0]], [], "nothing fails at the start")
        expect(f"openlapi: task 0 to task 1: {path(links, 0, 0)} has failed: link down; messages take "
               f"{path(links, 1, 0)}; " in results[0].err, results[0])


def test_an_adapter_that_the_other_task_does_not_have_is_not_there_and_has_not_failed(jobs):
    need_namespaces()
    with Links() as links:
        tasks = []
        jobs.partition += 1
        for host, adapters in zip(links.hosts, (2, 1)):
            own = ":".join(f"{links.address(link, host.number)},link{link}" for link in range(adapters))
            environment = jobs.task_environment(2, host.number, LAPI_USE_SHM="no", API_PATHS=links.paths(),
                                                API_PATHS_LIST="2", MP_LAPI_INET_ADDR=f"@{adapters}:{own}",
                                                MP_INFOLEVEL="2")
            tasks.append(jobs.start(host.inside(jobs.program("api_paths_probe"), "polling", "1"), environment))
        results = finish(jobs, tasks)
        expect_equal([line for result in results for line in changes(result)], [], "nothing has failed")
        [path] = [line for line in results[0].err.splitlines() if "to none in the list): " in line]
        expect("): not there yet, 0 % of the bytes, " in path and " failed " not in path, path)


def test_tasks_of_one_node_have_each_others_adapters_as_further_ones(jobs):
    """What is the first adapter of one task is a further one of the other, and at its port the list has that task."""
    addresses = ["127.0.0.1", "127.0.0.2"]
    [port] = free_ports(1)
    jobs.partition += 1
    places = "/".join([",".join(f"{address}:{port}" for address in addresses)] * 2)
    tasks = []
    for task in range(2):
        own = ":".join(f"{address},lo" for address in (addresses[task], addresses[1 - task]))
        environment = jobs.task_environment(2, task, LAPI_USE_SHM="no", API_PATHS=places, API_PATHS_LIST="2",
                                            MP_LAPI_INET_ADDR=f"@2:{own}", MP_INFOLEVEL="2")
        tasks.append(jobs.start([jobs.program("api_paths_probe"), "polling", "1"], environment))
        while task == 0 and f"{addresses[1]} port " not in (line := tasks[0].stderr.readline()):
            expect(line, "task 0 has ended and not opened its second adapter")
    for result in finish(jobs, tasks):
        for address in addresses:
            sent, received = packets(result, address)
            expect(sent > 20 and received > 20, result)


def test_a_first_adapter_that_does_not_open_is_the_end_where_it_alone_is_listed(jobs):
    need_namespaces()
    with Links() as links:
        links.hosts[0].ip("address", "delete", f"{links.address(0, 0)}/24", "dev", "link0")
        [task] = links.start(jobs, seconds=1, hosts=1, API_PATHS_LIST="2")
        result = jobs.finish(task)
        expect(result.status != 0 and links.address(0, 0) in result.err, result)


def test_a_failure_and_its_end_are_a_line_each(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=5, MP_INFOLEVEL="2")
        time.sleep(0.5)
        links.black_hole(0, True)
        time.sleep(1.2)
        links.black_hole(0, False)
        [result, other] = finish(jobs, tasks)
        lines = changes(result)
        begin = f"openlapi: task 0 to task 1: {path(links, 0, 0)} "
        expect(len(lines) >= 2, result)
        expect(re.fullmatch(re.escape(begin) + "has failed: no answer for [0-9.]+ m?s; messages take " +
                            re.escape(path(links, 1, 0)) + "; nothing moved for [0-9.]+ m?s", lines[0]), result)
        expect(re.match(re.escape(begin) + "serves again: (it has answered a probe|what was sent over it has arrived)"
                        "(; messages take .*)?; nothing moved over it for [0-9.]+ m?s", lines[1]), result)
        expect_equal(sum(of.err.count("0031-486 ") for of in (result, other)), 1, other)
        for link in range(2):
            [line] = [line for line in result.err.splitlines()
                      if line.startswith(f"openlapi: task 0 to task 1: {path(links, link, 0)}: ")]
            expect(" of the bytes, " in line and "round trip " in line, result)


def test_a_link_that_goes_down_is_the_cause(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=3, MP_INFOLEVEL="2")
        time.sleep(0.5)
        links.set(0, "down")
        time.sleep(1.2)
        links.set(0, "up")
        result = finish(jobs, tasks)[0]
        lines = changes(result)
        begin = f"openlapi: task 0 to task 1: {path(links, 0, 0)} "
        expect(len(lines) >= 2, result)
        expect(lines[0].startswith(f"{begin}has failed: link down; messages take {path(links, 1, 0)}; nothing moved for "),
               result)
        expect(lines[1].startswith(f"{begin}serves again: "), result)


def test_a_task_that_is_stopped_has_no_path_that_fails(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=4, MP_INFOLEVEL="2")
        for _ in range(3):
            time.sleep(0.3)
            tasks[1].send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            tasks[1].send_signal(signal.SIGCONT)
        for result in finish(jobs, tasks):
            expect_equal(changes(result), [], result)


def test_links_that_flap_are_told_of_once_a_second(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, MP_INFOLEVEL="2")
        for turn in range(40):
            links.set(0, "up" if turn % 2 else "down")
            time.sleep(0.1)
        links.set(0, "up")
        results = finish(jobs, tasks)
        expect(1 <= len(changes(results[0])) <= 2 + SECONDS, results[0])


def test_a_task_without_any_adapter_says_so(jobs):
    need_namespaces()
    for away, code in ((lambda links, link: links.set(link, "down"), LAPI_ERR_ADAPTERS_DOWN),
                       (lambda links, link: links.black_hole(link, True), LAPI_ERR_NO_CONNECTIVITY)):
        with Links() as links:
            tasks = links.start(jobs, API_PATHS_TIMEOUT="10", MP_INFOLEVEL="2")
            for link in range(2):
                away(links, link)
            results = [jobs.finish(task) for task in tasks]
            expect(results[0].status != 0 and f": error {code}: " in results[0].err, results[0])
            failed = [line.split(" has failed: ")[0] for line in changes(results[0])]
            expect(len(failed) == len(set(failed)) and results[0].err.count("; no adapter serves") <= 1, results[0])


def take_away(jobs, mode, away, back):
    """The first link goes and comes four times."""
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, mode, MP_INFOLEVEL="2")
        for _ in range(4):
            time.sleep(0.5)
            away(links)
            time.sleep(0.5)
            back(links)
        results = finish(jobs, tasks)
        expect(packets(results[0], links.address(1, 0))[0] > 0, results[0])
        print(f"# slowest operation: {results[0].value('slowest')} us", flush=True)


def test_a_link_that_goes_down_and_up_loses_nothing(jobs):
    take_away(jobs, "polling", lambda links: links.set(0, "down"), lambda links: links.set(0, "up"))


def test_a_link_of_the_other_side_that_goes_down_and_up_loses_nothing(jobs):
    take_away(jobs, "interrupt", lambda links: links.set(0, "down", 1), lambda links: links.set(0, "up", 1))


def test_packets_that_vanish_on_their_way_there_leave_over_the_other_link(jobs):
    take_away(jobs, "polling", lambda links: links.black_hole(0, True, 1), lambda links: links.black_hole(0, False, 1))


def test_packets_that_vanish_on_their_way_back_leave_over_the_other_link(jobs):
    take_away(jobs, "interrupt", lambda links: links.black_hole(0, True, 0), lambda links: links.black_hole(0, False, 0))


def test_how_long_nothing_moves_with_and_without_word_of_the_link(jobs):
    """Figures for people, and beside them what the machine does to the same load while the links stay. What is in flight
    when the kernel says that the link is down leaves at once over the other one; of packets that vanish only a time-out
    tells."""
    need_namespaces()
    ways = {"links stay": lambda links, on: None,
            "link down here": lambda links, on: links.set(0, "up" if on else "down"),
            "packets vanish": lambda links, on: links.black_hole(0, not on, 1)}
    for way, switch in ways.items():
        with Links() as links:
            tasks = links.start(jobs)
            for _ in range(8):
                time.sleep(0.3)
                switch(links, False)
                time.sleep(0.3)
                switch(links, True)
            result = finish(jobs, tasks)[0]
        print(f"# {way}, 8 times: of the slowest 8 operations the median took {result.value('slowest_of_eight')} us, the "
              f"slowest {result.value('slowest')} us", flush=True)


def listeners(links):
    """Sockets that the kernel tells of links and addresses, on the first host."""
    shown = subprocess.run(links.hosts[0].inside("cat", "/proc/net/netlink"), check=True, capture_output=True, text=True)
    rows = [line.split() for line in shown.stdout.splitlines()[1:]]
    return [row for row in rows if row[1] == "0" and int(row[3], 16) == LINKS_AND_ADDRESSES]


def test_a_task_hears_of_its_links_over_one_socket(jobs):
    need_namespaces()
    for count in range(1, 4):
        with Links(count) as links:
            tasks = links.start(jobs, seconds=1)
            expect_equal(len(listeners(links)), 1, f"of {count} adapters")
            finish(jobs, tasks)


def test_both_links_in_turn(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, MP_INFOLEVEL="2")
        for turn in range(8):
            links.set(turn % 2, "down", turn // 2 % 2)
            time.sleep(0.3)
            links.set(turn % 2, "up", turn // 2 % 2)
            time.sleep(0.2)
        finish(jobs, tasks)


def test_eight_links_fail_one_after_the_other_down_to_one(jobs):
    need_namespaces()
    ways = [("down here", lambda links, link: links.set(link, "down", 0), lambda links, link: links.set(link, "up", 0)),
            ("down there", lambda links, link: links.set(link, "down", 1), lambda links, link: links.set(link, "up", 1)),
            ("silent there", lambda links, link: links.black_hole(link, True, 1),
             lambda links, link: links.black_hole(link, False, 1)),
            ("silent here", lambda links, link: links.black_hole(link, True, 0),
             lambda links, link: links.black_hole(link, False, 0))]
    with Links(8) as links:
        tasks = links.start(jobs, seconds=8, MP_INFOLEVEL="2")
        for link in range(7):
            ways[link % 4][1](links, link)
            time.sleep(0.4)
        for link in range(7):
            ways[link % 4][2](links, link)
        links.set(7, "down", 0)  # the one that was left
        results = finish(jobs, tasks)
        for link in range(8):
            expect(packets(results[0], links.address(link, 0))[0] > 0, (link, results[0]))


def test_a_link_that_is_taken_out_and_laid_anew_serves_again(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs, seconds=8, MP_INFOLEVEL="2")
        time.sleep(1)
        links.tear_out(0)
        time.sleep(1)
        links.lay(0)
        time.sleep(2)
        links.set(1, "down", 1)
        results = finish(jobs, tasks)
        expect("adapter 0 (udp, 10.77.0.1" in results[0].err and " serves again" in results[0].err, results[0])


def test_messages_wait_while_both_links_are_away(jobs):
    need_namespaces()
    with Links() as links:
        tasks = links.start(jobs)
        time.sleep(0.5)
        for link in range(2):
            links.set(link, "down")
        time.sleep(2)
        links.set(1, "up")
        results = finish(jobs, tasks)
        expect(results[0].value("slowest") > 1_000_000, results[0])


def test_a_first_contact_finds_the_link_that_serves(jobs):
    need_namespaces()
    with Links() as links:
        links.set(0, "down", 1)
        results = finish(jobs, links.start(jobs, seconds=1, MP_INFOLEVEL="2"))
        expect(packets(results[0], links.address(1, 0))[1] > 100, results[0])


def test_the_last_adapters_of_each_end_reach_each_other(jobs):
    """Of three on one network, whose numbers differ."""
    need_namespaces()
    for here, there in ((0, 1), (0, 2), (1, 0), (2, 1)):
        with Switch(3) as links:
            tasks = links.start(jobs, seconds=3, API_PATHS_TIMEOUT="10", MP_INFOLEVEL="2")
            time.sleep(0.5)
            for link in range(3):
                for host, left in enumerate((here, there)):
                    if link != left:
                        links.set(link, "down", host)
            for host, result in enumerate(finish(jobs, tasks)):
                expect(packets(result, links.address((here, there)[host], host))[1] > 20, result)


def test_links_that_flap_lose_nothing(jobs):
    need_namespaces()
    with Links(3) as links:
        tasks = links.start(jobs)
        until = time.monotonic() + SECONDS - 1
        chosen = random.Random(5)
        while time.monotonic() < until:
            link, host = chosen.randrange(3), chosen.randrange(2)
            links.set(link, "down", host)
            time.sleep(chosen.random() * 0.1)
            links.set(link, "up", host)
        finish(jobs, tasks)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
