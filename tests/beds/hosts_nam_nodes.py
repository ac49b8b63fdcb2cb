#!/usr/bin/env python3
"""The network availability matrix of many nodes: of an adapter that is taken down every node's namstat says the same, in
words, as JSON, as a change and to whoever watches, and so do tasks. Runs inside the bed:

    tests/beds/hosts 1 -- hosts_nam_nodes.py BUILD [NODES]

From the 18th on nodes are two links from the first one, and hear of each other over others. Prints TAP, and how long news
took: all of it on this machine's processors."""
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from namespace_nodes import ADAPTER, Switch, Universe  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, NODES = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 18
LIMIT = 90  # seconds; only what hangs needs them
LINE = re.compile(r"(\d+) addresses, (\d+) up\n")


class Listeners:
    """A program on each of some nodes that says something whenever there is news; the latest of each, and when."""

    def __init__(self, universe, names, words_of, understand):
        self.heard, self.latest, self.processes, self.threads = threading.Condition(), {}, [], []
        for name in names:
            process = universe.start(name, words_of(name))
            self.processes.append(process)
            self.threads.append(threading.Thread(target=self.read, args=(name, process, understand)))
            self.threads[-1].start()

    def read(self, name, process, understand):
        for line in process.stdout:
            with self.heard:
                self.latest[name] = (time.monotonic_ns(), understand(line))
                self.heard.notify()

    def all_say(self, what):
        """Nanoseconds, when the last of them has; None: not all do."""
        said = lambda: len(self.latest) == len(self.processes) and all(latest == what for _, latest in self.latest.values())  # noqa: E731
        with self.heard:
            return max(when for when, _ in self.latest.values()) if self.heard.wait_for(said, LIMIT) else None

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait(LIMIT)
        for thread in self.threads:
            thread.join(LIMIT)


def down_in(matrix):
    """What is down, by node and adapter, with the reason; None: not all nodes are in the matrix."""
    nodes = [node["node"] for node in matrix["nodes"] if node["state"] == "member" and len(node["adapters"]) >= 2]
    if nodes != list(range(NODES)):
        return None
    return [(node["node"], adapter["name"], adapter["reason"]) for node in matrix["nodes"] for adapter in node["adapters"]
            if adapter["state"] != "up"]


def namstat(universe, *options):
    """What every node's says: by name, status and text."""
    running = {name: universe.start(name, ["namstat", *options]) for name in universe.names}
    said = {name: process.communicate(timeout=LIMIT)[0] for name, process in running.items()}
    return {name: (running[name].returncode, text) for name, text in said.items()}


def without_own_place(text):
    """The same on every node."""
    return json.dumps({key: value for key, value in json.loads(text).items() if key != "here"})


def check_everywhere(universe, node, changes_before):
    """While the adapter of that node is down."""
    name = universe.names[node]
    words = namstat(universe)
    line = rf"\nn{node} \({re.escape(name)}\): {ADAPTER} \([^)]*\) is down since [^:]*:\d\d:[0-9.]*: taken down\n"
    check(f"n{node} down: every namstat ends with 1 and says which adapter is down, since when and why",
          all(status == 1 and re.search(line, text) for status, text in words.values()), words)
    check(f"n{node} down: all in the same words", len({text for _, text in words.values()}) == 1, words)
    objects = namstat(universe, "--json")
    check(f"n{node} down: --json ends with 1 and is the same on every node",
          all(status == 1 for status, _ in objects.values()) and
          len({without_own_place(text) for _, text in objects.values()}) == 1, objects)
    places = {json.loads(text)["here"] for _, text in objects.values()}
    check(f"n{node} down: each knows which node it is", places == set(range(NODES)), places)
    histories = {here: [json.loads(line) for line in text.splitlines()][changes_before.get(here, 0):]
                 for here, (_, text) in namstat(universe, "--history", "--json").items()}
    told = {here: [(change["node"], change["adapter"]["name"], change["adapter"]["state"]) for change in history]
            for here, history in histories.items()}
    check(f"n{node} down: --history has that change alone on every node",
          all(changes == [(node, ADAPTER, "down")] for changes in told.values()), told)
    since = {history[0]["adapter"]["since"] for history in histories.values() if history}
    check(f"n{node} down: with the time at which that node knew", len(since) == 1, since)


def history_lengths(universe):
    return {here: len(text.splitlines()) for here, (_, text) in namstat(universe, "--history", "--json").items()}


def test_a_change(universe, switch, watchers, tasks, addresses, node):
    before = history_lengths(universe)
    for is_up in (False, True):
        down, up = ([], addresses) if is_up else ([(node, ADAPTER, "taken down")], addresses - 1)
        start = switch.set(node - 1, is_up)
        seen, followed = watchers.all_say(down), tasks.all_say((addresses, up))
        state = "up" if is_up else "down"
        check(f"n{node} {state}: whoever watches on each node is told", seen is not None, watchers.latest)
        check(f"n{node} {state}: tasks of two nodes see it", followed is not None, tasks.latest)
        if seen and followed:
            print(f"# n{node} {state}: {(seen - start) / 1e6:.0f} ms until the last of {NODES} namstat --watch has said it, "
                  f"{(followed - start) / 1e6:.0f} ms until both tasks have", flush=True)
        if not is_up:
            check_everywhere(universe, node, before)
    check(f"n{node} up: every namstat ends with 0", all(status == 0 for status, _ in namstat(universe).values()))


def main():
    universe = Universe(BUILD, NODES)
    names = universe.names
    switch = Switch(names[1:])
    watchers = Listeners(universe, names, lambda name: ["namstat", "--watch", "--json"], lambda line: down_in(json.loads(line)))
    check(f"all {NODES} nodes see all adapters of all nodes, which are up", watchers.all_say([]) is not None, watchers.latest)
    addresses = sum(len(adapter["addresses"]) for node in json.loads(namstat(universe, "--json")[names[0]][1])["nodes"]
                    for adapter in node["adapters"])
    probe = BUILD / "tests/system/control_adapter_probe"
    tasks = Listeners(universe, (names[1], names[-1]), lambda name: [probe, universe.session(name)],
                      lambda line: tuple(map(int, LINE.fullmatch(line).groups())))
    check("tasks of two nodes see them, too", tasks.all_say((addresses, addresses)) is not None, tasks.latest)
    for node in (1, NODES - 1):  # one link from the first, and as far as there are
        test_a_change(universe, switch, watchers, tasks, addresses, node)
    watchers.end()
    tasks.end()
    universe.end()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
