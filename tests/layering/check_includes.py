#!/usr/bin/env python3
"""Refuses every include that the project's layers do not allow.

    check_includes.py [ROOT]

Two tables say all: which part of the project may include which other part, and which headers from outside belong to
which part. Prints one line for each forbidden include and ends with status 1 if there is any.
"""
import pathlib
import re
import sys

# What is installed, and in which folders lie the headers that these headers name as users name them: side by side.
INSTALLED = {"api/include": ["api/include"], "control/boot/include": ["control/boot/include"],
             "api/rpi/include": ["api/rpi/include", "control/boot/include"]}

# Of control/daemon: what tools and tasks use, and all that has no sockets of daemons.
DAEMON_CLIENT = ["control/daemon/session", "control/daemon/messages", "control/daemon/universe"]
DAEMON_PASSIVE = [*DAEMON_CLIENT, "control/daemon/membership", "control/daemon/tables", "control/daemon/adapters"]

# What the parts of the engine stand on.
BELOW_PATHS = ["dataplane/wire", "dataplane/transport", "dataplane", "dataplane/base"]
BELOW_PEERS = ["dataplane/counter", "dataplane/message", "dataplane/paths", "dataplane/host", "dataplane/layout",
               *BELOW_PATHS]

# Folders of which only the files that lie in them are a part.
WITHOUT_FOLDERS = ["dataplane"]

# Part -> parts that it may include, besides itself. A part is a folder: the longest of these that a path begins with.
MAY_INCLUDE = {
    "dataplane/base": [],
    "dataplane": [],  # tuning.h, which lies in no folder of its own
    "dataplane/wire": ["dataplane/base"],
    "dataplane/transport": ["dataplane/base"],
    "dataplane/reliability": ["dataplane/wire", "dataplane", "dataplane/base"],
    "dataplane/layout": ["dataplane/wire", "dataplane/base"],
    # What goes in and out of the engine.
    "dataplane/host": ["dataplane/layout", *BELOW_PATHS],
    "dataplane/paths": ["dataplane/host", "dataplane/reliability", *BELOW_PATHS],
    "dataplane/counter": ["dataplane/host", "dataplane/transport", "dataplane/base"],
    "dataplane/message": ["dataplane/host", "dataplane/layout", *BELOW_PATHS],
    "dataplane/peers": BELOW_PEERS,
    "dataplane/transfer": ["dataplane/peers", "dataplane/reliability", *BELOW_PEERS],
    "dataplane/sync": ["dataplane/transfer", "dataplane/peers", *BELOW_PEERS],
    "dataplane/operation": ["dataplane/sync", "dataplane/transfer", "dataplane/peers", *BELOW_PEERS],
    "dataplane/endpoint": ["dataplane/operation", "dataplane/sync", "dataplane/transfer", "dataplane/peers",
                           *BELOW_PEERS],
    "dataplane/poller": ["dataplane/endpoint", "dataplane/transport", "dataplane", "dataplane/base"],
    # What the kernel says of links, for transports and daemons.
    "nic/links": ["dataplane/base"],
    "nic/udp": ["nic/links", "dataplane/transport", "dataplane/base"],
    "nic/dpdk": ["nic/modules", "dataplane/transport", "dataplane/base"],
    "nic/verbs": ["nic/modules", "dataplane/transport", "dataplane/base"],
    # What modules say of themselves while they are not loaded.
    "nic/modules": ["dataplane/base"],
    "shm": ["dataplane/transport", "dataplane/base"],
    # What several of the parts of control need.
    "control/base": ["dataplane/base"],
    "control/sealing": ["control/base", "dataplane/base"],
    # What a task links: how it learns who it is. With a network table it asks its node's daemon.
    "control/client": ["control/base", *DAEMON_CLIENT, "dataplane/base"],
    # What boot modules include; it stands alone.
    "control/boot/include": [],
    # What services of the System Services Interface have in common: modules, parameters, mistakes.
    "control/ssi": ["control/base", "dataplane/base", "control/boot/include"],
    # The boot service: the inside of lam-ssi-boot.h, a library of its own.
    "control/boot": ["control/base", "control/sealing", "control/ssi", "dataplane/base", "control/boot/include"],
    # The daemons of a universe: the nodes and their tree; what daemons, tools and tasks tell each other; who is linked
    # with whom; network tables; the adapters of all nodes; how tools and tasks find a daemon; and the daemon itself, with its sockets, which uses the
    # boot service as boot modules do.
    "control/daemon/universe": ["dataplane/base", "control/boot/include"],
    "control/daemon/messages": ["control/daemon/universe", "control/base", "control/sealing", "dataplane/base"],
    "control/daemon/session": ["control/daemon/messages", "control/daemon/universe", "control/base", "dataplane/base"],
    "control/daemon/membership": [*DAEMON_CLIENT, "control/base", "dataplane/base"],
    "control/daemon/tables": [*DAEMON_CLIENT, "control/base", "dataplane/base"],
    "control/daemon/adapters": [*DAEMON_CLIENT, "control/base", "nic/links", "dataplane/base"],
    "control/daemon/service": [*DAEMON_PASSIVE, "control/base", "control/sealing", "nic/links", "dataplane/base",
                               "control/boot/include"],
    "control/tools": [*DAEMON_PASSIVE, "control/daemon/service", "control/base", "dataplane/base", "control/boot/include"],
    # A job: what the user asks for, lapirun's end, the nodes' ends with their PMIx servers, and the messages between
    # them; daemons carry these without knowing them.
    "control/job": ["control/job/options", "control/job/messages", "control/job/node", "control/job/origin",
                    *DAEMON_CLIENT, "control/base", "control/client", "dataplane/base"],
    "control/job/options": ["control/base", "control/client", "dataplane/base"],
    "control/job/pmix": ["control/base", "control/client", "dataplane/base"],
    "control/job/messages": [*DAEMON_CLIENT, "control/base", "control/client", "dataplane/base"],
    "control/job/node": ["control/job/options", "control/job/messages", "control/job/pmix", *DAEMON_CLIENT,
                         "control/base", "control/client", "dataplane/base"],
    "control/job/origin": ["control/job/options", "control/job/messages", "control/job/pmix", "control/job/node",
                           *DAEMON_CLIENT, "control/base", "control/client", "control/sealing", "dataplane/base",
                           "control/boot/include"],
    # What users include; it stands alone.
    "api/include": [],
    # What rpi modules include, beside what modules of all kinds include.
    "api/rpi/include": ["control/boot/include"],
    # What services and the module `lapi` match by.
    "api/rpi/matching": ["api/rpi/include"],
    # The services behind it, and the life of the modules.
    "api/rpi": ["api/rpi/include", "api/rpi/matching", "control/ssi", "control/boot/include", "dataplane/base"],
    # The module `lapi`: a face of the engine, as the context is one.
    "api/rpi/lapi": ["api/rpi/include", "api/rpi/matching", "control/ssi", "control/boot/include", "control/client", "api/wiring",
                     "api/lock", "dataplane/transport", "dataplane/endpoint", "dataplane/host", "dataplane/poller",
                     "dataplane/base"],
    # What opens transports for any face, and knows of no face. It names two; those of user space are modules.
    "api/wiring": ["nic/links", "nic/modules", "nic/udp", "shm", "control/client", "dataplane/transport", "dataplane/endpoint", "dataplane/host", "dataplane/poller",
                   "dataplane/base"],
    "api/arguments": ["api/include", "api/wiring", "dataplane/layout", "dataplane/base"],
    "api/context": ["api/include", "api/arguments", "api/lock", "api/wiring", "nic/modules", "shm", "control/client", "dataplane/transport",
                    "dataplane/endpoint", "dataplane/sync", "dataplane/peers",
                    "dataplane/counter", "dataplane/host", "dataplane/layout", "dataplane/poller", "dataplane",
                    "dataplane/base"],
    "api/calls": ["api/include", "api/arguments", "api/context", "dataplane/endpoint", "dataplane/sync", "dataplane/peers",
                    "dataplane/counter", "dataplane/host", "dataplane/layout",
                  "dataplane/base"],
    # A lock that a program's threads share with one of the library's.
    "api/lock": ["dataplane/poller", "dataplane/base"],
    "api/fortran": ["api/include", "api/context"],
    # The tool, no part of the library: it asks every transport whether it is usable here.
    "api/info": ["api/include", "api/context", "api/wiring", "nic/udp", "shm", "control/base", "dataplane/poller"],
    "libtrace": ["api/include", "api/arguments", "api/wiring", "dataplane/transport"],
    # Users' programs: lapi.h, their frame, and nothing else of ours.
    "samples": ["api/include"],
    "tests": None,  # anything
    "bench": None,
}

ENGINE = ["dataplane/wire", "dataplane/layout", "dataplane/transport", "dataplane/host", "dataplane/reliability",
          "dataplane/paths", "dataplane/counter", "dataplane/message", "dataplane/peers", "dataplane/transfer",
          "dataplane/sync", "dataplane/operation", "dataplane/endpoint"]

# Headers from outside: pattern, why, and the places (beginnings of paths) that may include them.
ONLY_IN = [
    (r"rte_.*\.h", "DPDK", ["nic/dpdk/", "bench/", "tests/"]),
    (r"(infiniband|rdma)/.*", "verbs", ["nic/verbs/", "bench/", "tests/"]),
    (r"(sys/socket|sys/un|netdb|ifaddrs|net/.*|netinet/.*|arpa/inet|linux/(udp|netlink|rtnetlink|errqueue))(\.h)?",
     "sockets", ["nic/modules/verbs_variables.cc", "nic/verbs/interface_vlan.cc", "nic/links/", "nic/udp/", "nic/dpdk/client_connection.cc", "nic/dpdk/held_port.cc", "nic/dpdk/network_interface.cc",
                 "nic/dpdk/packet_ring.cc",
                 "control/", "shm/", "bench/", "samples/", "tests/"]),
    (r"sys/mman\.h", "memory maps", ["shm/", "nic/udp/udp_setup", "nic/dpdk/dpdk_setup", "nic/dpdk/huge_pages", "nic/verbs/registered_memory",
                                     "nic/verbs/memory_monitor", "api/rpi/lapi/transfer_memory", "api/rpi/lapi/function_words",
                                     "control/job/pmix/",
                                     "control/client/", "control/daemon/adapters/", "api/arguments/argument_checks.cc", "bench/", "tests/"]),
    (r"thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token|pthread\.h|threads\.h",
     "threads", ["dataplane/poller/", "dataplane/base/adapter_memory", "dataplane/base/cancellation.h", "nic/verbs/memory_monitor.cc", "shm/direct/",
                 "dataplane/base/slow_call", "nic/dpdk/dpdk_environment", "api/", "control/", "bench/", "samples/", "tests/"]),
    (r"(gtest|gmock)/.*", "the test framework", ["tests/"]),
    (r"benchmark/.*", "the benchmark framework", ["bench/", "tests/"]),
    (r"pmix.*\.h", "PMIx", ["control/", "bench/", "tests/"]),
    (r"hwloc.*", "hwloc", ["dataplane/poller/", "control/", "api/", "bench/", "tests/"]),
    (r"(CLI|nlohmann|spdlog)/.*", "libraries of the tools", ["api/info/", "control/", "bench/", "tests/"]),
]
# Besides: the engine is handed its clock and its random numbers. (pattern, why, the parts that must not)
NEVER_IN = [
    (r"chrono|ctime|time\.h|sys/time(fd)?\.h|random|sys/random\.h", "a clock or random numbers of its own", ENGINE),
]
# lapi.h needs the types in_addr_t and in_port_t, lamnet.h sockaddr_in.
EXCEPTIONS = {("api/include/lapi.h", "netinet/in.h"), ("control/boot/include/lamnet.h", "netinet/in.h")}
# Calls that need no header of their own. (pattern, why, places)
CALLS_ONLY_IN = [(r"\bprocess_vm_(readv|writev)\s*\(", "cross-memory attach", ["shm/", "bench/", "tests/"])]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
FOLDERS = ["api", "bench", "control", "dataplane", "libtrace", "nic", "samples", "shm", "tests"]
SUFFIXES = {".h", ".hpp", ".cc", ".c"}


def part_of(path):
    """The part that a path (from the root) belongs to; None when the tables do not know it."""
    names = [name for name in MAY_INCLUDE if path.startswith(name + "/")
             and (name not in WITHOUT_FOLDERS or "/" not in path[len(name) + 1:])]
    return max(names, key=len, default=None)


def check_own_include(root, path, target):
    """What is wrong with `#include "target"` in `path`; None if nothing is."""
    # Programs that use openlapi from outside name the users' headers as users do; so do these headers themselves.
    for folder, named in INSTALLED.items():
        as_users = path.startswith(folder + "/") or MAY_INCLUDE.get(part_of(path), []) is None
        if as_users and "/" not in target and any((root / each / target).is_file() for each in named):
            return None
    # Samples are built where they are installed: their frame lies at the top of their folder, lapi.h elsewhere.
    if path.startswith("samples/") and target in {"lapi.h", "sample.h"}:
        return None
    if not (root / target).is_file() or ".." in target.split("/"):
        return "no such file or not plain: includes are written from the root of the project"
    here, there = part_of(path), part_of(target)
    if here is None or there is None:
        return f"{path if here is None else target} belongs to no part that this check knows"
    allowed = MAY_INCLUDE[here]
    if allowed is None or there == here or there in allowed:
        return None
    return f"{here} may not include {there}; it may include: {', '.join(allowed) or 'nothing of ours'}"


def check_outside_include(path, header):
    """What is wrong with including the header from outside in `path`; None if nothing is."""
    if (path, header) in EXCEPTIONS:
        return None
    for pattern, what, places in ONLY_IN:
        if re.fullmatch(pattern, header) and not path.startswith(tuple(places)):
            return f"{what} may be used only in: {', '.join(places)}"
    for pattern, what, parts in NEVER_IN:
        if re.fullmatch(pattern, header) and part_of(path) in parts:
            return f"{part_of(path)} may not have {what}"
    return None


def check_file(root, path):
    """All complaints about one file, as lines "path:line: what"."""
    complaints = []
    for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        wrong = None
        if match and (match[1] == '"' or (root / match[2]).is_file()):
            wrong = check_own_include(root, path, match[2])
        if match and not wrong:
            wrong = check_outside_include(path, match[2])
        if wrong:
            complaints.append(f"{path}:{number}: {match[2]}: {wrong}")
        for pattern, what, places in CALLS_ONLY_IN:
            if re.search(pattern, line) and not path.startswith(tuple(places)):
                complaints.append(f"{path}:{number}: {what} may be used only in: {', '.join(places)}")
    return complaints


def sources(root):
    """The project's C and C++ files, as paths from the root."""
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                yield file.relative_to(root).as_posix()


def main():
    default = pathlib.Path(__file__).resolve().parents[2]
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    files = list(sources(root))
    complaints = [line for path in files for line in check_file(root, path)]
    for line in complaints:
        print(line)
    print(f"{len(files)} files, {len(complaints)} forbidden includes")
    if not files:
        print(f"{root} has no sources to check")
    return 1 if complaints or not files else 0


if __name__ == "__main__":
    sys.exit(main())
