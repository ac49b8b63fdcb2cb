#!/usr/bin/env python3
"""Runs api_* programs over two network namespaces between which packets are lost, doubled and reordered.

    api_lossy_network.py PROGRAM_DIRECTORY [PART/PARTS | CASE...]      (2/3: every third case, from the second on)

The tasks are started by hand, without a launcher, with the address list that the programs take from API_UDP_LIST: the
even ones in one namespace, the odd ones in the other. Programs that open several contexts make more addresses of it.
Every program in API_PROGRAMS that no case names runs with all faults. Prints TAP. Without the right to make namespaces:
skipped.
"""
import os
import shutil
import subprocess
import sys
import tempfile

LIMIT = 100  # seconds for one case
FIRST_PORT = 20100

# name: rules for the sender's device, in both namespaces. HTB's slow class holds packets back behind later ones.
LOSS = "udp dport 20000-29999 numgen random mod 100 < 20 counter drop"
DUPLICATION = 'udp dport 20000-29999 numgen random mod 100 < 20 counter dup to "{device}"'
REORDERING = "udp dport 20000-29999 numgen random mod 100 < 5 counter meta priority set 1:2"
FAULTS = {
    "loss": [LOSS],
    "duplication": [DUPLICATION],
    "reordering": [REORDERING],
    "all": [LOSS, DUPLICATION, REORDERING],
}

# case: faults, tasks, program and its arguments, in which {addresses} stands for the address list
CASES = {
    "storm_loss_interrupt": ("loss", 2, ["api_storm", "interrupt", "300", "11", "30000"]),
    "storm_loss_polling": ("loss", 2, ["api_storm", "polling", "300", "12", "30000"]),
    "storm_duplication": ("duplication", 2, ["api_storm", "interrupt", "800", "13"]),
    "storm_reordering": ("reordering", 2, ["api_storm", "polling", "800", "14"]),
    "storm_all": ("all", 4, ["api_storm", "interrupt", "150", "15", "20000"]),
    "attributes": ("all", 3, ["api_attributes", "polling"]),
    "contexts": ("all", 2, ["api_contexts", "interrupt", "8"]),
    "contexts_polling": ("all", 2, ["api_contexts", "polling", "8"]),
    "cpp": ("all", 2, ["api_cpp", "interrupt"]),
    "crossing": ("all", 2, ["api_crossing", "interrupt", "60"]),
    "errors": ("loss", 3, ["api_errors", "polling"]),
    "fairness": ("all", 4, ["api_fairness", "polling", "60"]),
    "handler_calls": ("all", 2, ["api_handler_calls", "interrupt"]),
    "handlers": ("all", 2, ["api_handlers", "polling"]),
    "init": ("all", 3, ["api_init_probe", "list={addresses}"]),
    "init_handler": ("all", 2, ["api_init_probe", "list={addresses}", "handler=ok"]),
    "interrupt": ("all", 2, ["api_interrupt", "interrupt"]),
    "interrupt_polling": ("all", 2, ["api_interrupt", "polling"]),
    "profiling": ("all", 2, ["api_profiling_own"]),
    "statistics": ("duplication", 2, ["api_statistics", "interrupt"]),
    "sync": ("all", 2, ["api_sync", "interrupt"]),
    "transfer": ("reordering", 2, ["api_transfer", "interrupt"]),
    "transfer_all": ("all", 2, ["api_transfer", "interrupt", "1000000"]),
    "xfer": ("all", 2, ["api_xfer", "interrupt"]),
    "fortran_recovery": ("loss", 4, ["fortran/fortran_recovery", "interrupt"]),
    "fortran_recovery_polling": ("all", 2, ["fortran/fortran_recovery", "polling"]),
    "fortran_ports": ("all", 3, ["fortran/fortran_ports", "interrupt"]),
}


def add_missing_programs():
    named = {words[0] for _, _, words in CASES.values()}
    for program in os.environ.get("API_PROGRAMS", "").split():
        if program not in named:
            CASES[program.removeprefix("api_")] = ("all", 2, [program, "interrupt"])


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more)


def inside(name):
    """Words before a command that shall run in the namespace. Not `ip netns exec`: that also remounts the root, which
    is refused where the root is none of a mount (chroot)."""
    return ["nsenter", f"--net=/run/netns/{name}", "--"]


class Network:
    """Two namespaces, a veth pair between them, faults on both ends."""

    def __init__(self, faults):
        tag = os.getpid()
        self.names = [f"ola{tag}", f"olb{tag}"]
        self.devices = [f"oa{tag}", f"ob{tag}"]
        self.addresses = ["10.91.7.1", "10.91.7.2"]
        self.faults = FAULTS[faults]

    def __enter__(self):
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            run("ip", "link", "add", self.devices[0], "netns", self.names[0], "type", "veth",
                "peer", "name", self.devices[1], "netns", self.names[1])
            for end in (0, 1):
                self.set_up(end)
        except BaseException:
            self.__exit__()
            raise
        return self

    def set_up(self, end):
        here = inside(self.names[end])
        device = self.devices[end]
        run(*here, "ip", "address", "add", self.addresses[end] + "/24", "dev", device)
        run(*here, "ip", "link", "set", "lo", "up")
        run(*here, "ip", "link", "set", device, "up")
        run(*here, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
        run(*here, "tc", "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", "rate", "10gbit")
        run(*here, "tc", "class", "add", "dev", device, "parent", "1:", "classid", "1:2", "htb", "rate", "10mbit")
        rules = "\n".join(rule.format(device=device) for rule in self.faults)
        table = (f"table netdev faults {{\n chain out {{\n type filter hook egress device \"{device}\" priority 0;\n"
                 f"{rules}\n }}\n}}\n")
        run(*here, "nft", "-f", "-", input=table)

    def idle_rules(self):
        """Rules that met no packet."""
        idle = []
        for name in self.names:
            listing = run(*inside(name), "nft", "list", "ruleset").stdout
            idle += [line.strip() for line in listing.splitlines() if "counter packets 0 " in line]
        return idle

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def start(network, directory, tasks, words, task, output):
    end = task % 2
    addresses = ",".join(f"{network.addresses[other % 2]}:{FIRST_PORT + other}" for other in range(tasks))
    environment = dict(os.environ, MP_MSG_API="lapi", MP_EUILIB="ip", MP_PROCS=str(tasks), MP_CHILD=str(task),
                       MP_PARTITION=str(os.getpid()), OPENLAPI_SECRET="partition",
                       MP_LAPI_INET_ADDR=f"@1:{network.addresses[end]},{network.devices[end]}", LAPI_USE_SHM="no",
                       API_UDP_LIST=addresses, API_SLOWNESS="2")
    words = [word.format(addresses=addresses) for word in words]
    command = [*inside(network.names[end]), os.path.join(directory, words[0]), *words[1:]]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def run_case(directory, faults, tasks, words):
    """Returns None, or what went wrong."""
    with Network(faults) as network, tempfile.TemporaryFile("w+") as output:
        processes = [start(network, directory, tasks, words, task, output) for task in range(tasks)]
        failed = []
        try:
            for task, process in enumerate(processes):
                status = process.wait(LIMIT)
                if status != 0:
                    failed.append(f"task {task} ended with {status}")
                    break
        except subprocess.TimeoutExpired:
            failed.append(f"task {task} did not end in {LIMIT} s")
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if words[0] == "api_storm":  # the others may be through before a rule's turn comes
            failed += [f"a rule met no packet: {rule}" for rule in network.idle_rules()]
        if not failed:
            return None
        output.seek(0)
        return "; ".join(failed) + "\n" + output.read()


def unfit():
    missing = [tool for tool in ("ip", "tc", "nft") if shutil.which(tool) is None]
    if missing:
        return "no " + ", ".join(missing)
    name = f"olt{os.getpid()}"
    probe = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        return "no right to make network namespaces"
    subprocess.run(["ip", "netns", "delete", name], check=False)
    return None


def chosen_cases(words):
    if len(words) == 1 and "/" in words[0]:
        part, parts = map(int, words[0].split("/"))
        return list(CASES)[part - 1::parts]
    return words or list(CASES)


def main():
    add_missing_programs()
    directory, chosen = sys.argv[1], chosen_cases(sys.argv[2:])
    reason = unfit()
    broken = 0
    for number, name in enumerate(chosen, 1):
        if reason:
            print(f"ok {number} - {name} # SKIP {reason}")
            continue
        faults, tasks, words = CASES[name]
        if words[0].startswith("fortran/") and not os.path.exists(os.path.join(directory, words[0])):
            print(f"ok {number} - {name} # SKIP no Fortran compiler")
            continue
        try:
            problem = run_case(directory, faults, tasks, words)
        except subprocess.CalledProcessError as error:
            problem = f"{' '.join(error.cmd)}: {error.stderr}"
        if problem is None:
            print(f"ok {number} - {name}", flush=True)
        else:
            broken += 1
            print(f"not ok {number} - {name}: {problem.strip().splitlines()[0]}", flush=True)
            print("\n".join("# " + line for line in problem.splitlines()[1:40]), flush=True)
    print(f"1..{len(chosen)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
