#!/usr/bin/env python3
"""check_includes.py refuses bad trees and accepts good ones: every tree is written to a folder and checked for real."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_includes

CHECK = pathlib.Path(__file__).resolve().parent / "check_includes.py"

# A small tree in which everything is allowed; each case below adds one file to it.
GOOD_TREE = {
    "dataplane/base/clock.h": "#include <cstdint>\n",
    "dataplane/tuning.h": "#pragma once\n",
    "dataplane/transport/transport.h": '#include "dataplane/base/clock.h"\n',
    "dataplane/wire/packet_header.h": '#include "dataplane/base/clock.h"\n',
    "dataplane/reliability/send_window.h": '#include "dataplane/wire/packet_header.h"\n#include "dataplane/tuning.h"\n',
    "dataplane/transfer/outbox.h": '#include "dataplane/reliability/send_window.h"\n',
    "dataplane/operation/put.h": '#include "dataplane/wire/packet_header.h"\n',
    "dataplane/endpoint/endpoint.h": '#include "dataplane/operation/put.h"\n#include "dataplane/transfer/outbox.h"\n',
    "dataplane/poller/poller.cc": '#include <thread>\n#include "dataplane/endpoint/endpoint.h"\n',
    "nic/udp/udp_transport.h": '#include <sys/socket.h>\n#include "dataplane/transport/transport.h"\n',
    "shm/segment.cc": "#include <sys/mman.h>\n",
    "shm/segment.h": '#include "dataplane/transport/transport.h"\n',
    "control/client/bootstrap.h": "#include <pmix.h>\n#include <netdb.h>\n",
    "api/include/lapi.h": "#include <netinet/in.h>\n#include <pthread.h>\n",
    "api/include/lapi.hpp": '#include "lapi_basics.hpp"\n#include <span>\n',
    "api/include/lapi_basics.hpp": '#include "lapi.h"\n#include <string>\n',
    "control/boot/include/all_list.h": "#include <stdint.h>\n",
    "control/boot/include/lamnet.h": '#include <netinet/in.h>\n#include "all_list.h"\n',
    "control/base/poll_set.h": "#include <poll.h>\n",
    "control/boot/nodes/node_array.h": '#include <thread>\n#include "control/boot/include/lamnet.h"\n'
                                       '#include "control/base/poll_set.h"\n',
    "tests/system/module.c": "#include <lamnet.h>\n",
    "api/wiring/networks.cc": '#include "nic/udp/udp_transport.h"\n#include "shm/segment.h"\n'
                              '#include "control/client/bootstrap.h"\n',
    "api/context/context.h": '#include "api/include/lapi.h"\n#include "api/wiring/networks.cc"\n',
    "api/calls/transfer.cc": '#include "api/include/lapi.h"\n#include "dataplane/endpoint/endpoint.h"\n#include <mutex>\n',
    "tests/unit/everything_test.cc": '#include <gtest/gtest.h>\n#include "dataplane/wire/packet_header.h"\n',
    "samples/sample.h": "#include <lapi.h>\n",
    "samples/standalone/udp.c": '#include <arpa/inet.h>\n#include <pthread.h>\n#include "sample.h"\n',
    "tests/system/hello.c": '#include "lapi.h"\n',
    "bench/floor_bench.cc": '#include <sys/socket.h>\n#include <benchmark/benchmark.h>\n#include "shm/segment.h"\n',
}

# file, its text, a word of the complaint
BAD_FILES = [
    ("dataplane/base/a.h", '#include "dataplane/wire/packet_header.h"', "nothing of ours"),
    ("dataplane/tuning.h", '#include "dataplane/base/clock.h"', "nothing of ours"),
    ("dataplane/wire/a.h", '#include "dataplane/transport/transport.h"', "dataplane/wire may not include"),
    ("dataplane/transport/a.h", '#include "dataplane/wire/packet_header.h"', "dataplane/transport may not include"),
    ("dataplane/reliability/a.h", '#include "dataplane/operation/put.h"', "reliability may not include"),
    ("dataplane/reliability/a.h", '#include "dataplane/transport/transport.h"', "reliability may not include"),
    ("dataplane/operation/a.h", '#include "dataplane/reliability/send_window.h"', "operation may not include"),
    ("dataplane/operation/a.h", '#include "dataplane/endpoint/endpoint.h"', "operation may not include"),
    ("dataplane/sync/a.h", '#include "dataplane/operation/put.h"', "sync may not include"),
    ("dataplane/transfer/a.h", '#include "dataplane/operation/put.h"', "transfer may not include"),
    ("dataplane/peers/a.h", '#include "dataplane/transfer/outbox.h"', "peers may not include"),
    ("dataplane/message/a.h", '#include "dataplane/transfer/outbox.h"', "message may not include"),
    ("dataplane/endpoint/a.cc", '#include "shm/segment.h"', "dataplane/endpoint may not include"),
    ("dataplane/endpoint/a.cc", '#include "dataplane/poller/poller.cc"', "dataplane/endpoint may not include"),
    ("dataplane/endpoint/a.cc", '#include "api/include/lapi.h"', "dataplane/endpoint may not include"),
    ("nic/udp/a.cc", '#include "dataplane/wire/packet_header.h"', "nic/udp may not include"),
    ("nic/udp/a.cc", '#include "shm/segment.h"', "nic/udp may not include"),
    ("shm/a.cc", '#include "dataplane/endpoint/endpoint.h"', "shm may not include"),
    ("shm/a.cc", '#include "dataplane/tuning.h"', "shm may not include"),
    ("shm/a.cc", '#include "control/client/bootstrap.h"', "shm may not include"),
    ("control/job/options/a.cc", '#include "dataplane/transport/transport.h"', "control/job/options may not include"),
    ("control/job/options/a.cc", '#include "api/include/lapi.h"', "control/job/options may not include"),
    ("control/job/options/a.cc", '#include "control/boot/include/lamnet.h"', "control/job/options may not include"),
    ("control/boot/a.cc", '#include "api/include/lapi.h"', "control/boot may not include"),
    ("control/boot/a.cc", '#include "dataplane/transport/transport.h"', "control/boot may not include"),
    ("control/boot/a.cc", '#include "control/client/bootstrap.h"', "control/boot may not include"),
    ("control/base/a.h", '#include "control/client/bootstrap.h"', "control/base may not include"),
    ("control/client/a.cc", '#include "control/boot/include/lamnet.h"', "control/client may not include"),
    ("control/daemon/messages/a.cc", '#include "control/boot/include/lamnet.h"', "control/daemon/messages may not include"),
    ("control/boot/a.cc", '#include "lamnet.h"', "written from the root"),
    ("control/boot/include/all_list.h", '#include "dataplane/base/clock.h"', "may not include"),
    ("control/boot/include/all_list.h", '#include "api/include/lapi.h"', "may not include"),
    ("api/calls/transfer.cc", '#include "shm/segment.h"', "api/calls may not include"),
    ("api/calls/transfer.cc", '#include "control/client/bootstrap.h"', "api/calls may not include"),
    ("api/calls/transfer.cc", '#include "dataplane/operation/put.h"', "api/calls may not include"),
    ("api/wiring/networks.cc", '#include "dataplane/reliability/send_window.h"', "api/wiring may not include"),
    ("api/wiring/a.cc", '#include "api/context/context.h"', "api/wiring may not include"),
    ("api/wiring/a.cc", '#include "api/calls/transfer.cc"', "api/wiring may not include"),
    ("api/wiring/a.cc", '#include "api/include/lapi.h"', "api/wiring may not include"),
    ("api/context/a.cc", '#include "nic/udp/udp_transport.h"', "api/context may not include"),
    ("api/context/a.cc", '#include "api/calls/transfer.cc"', "api/context may not include"),
    ("api/calls/a.cc", '#include "api/wiring/networks.cc"', "api/calls may not include"),
    ("api/include/lapi.h", '#include "dataplane/base/clock.h"', "nothing of ours"),
    ("api/a.cc", '#include "api/include/lapi.h"', "belongs to no part"),
    ("samples/basic/a.c", '#include "dataplane/base/clock.h"', "samples may not include"),
    ("samples/basic/a.c", '#include "shm/segment.h"', "samples may not include"),
    ("samples/basic/a.c", "#include <sys/mman.h>", "memory maps"),
    ("shm/a.cc", '#include "tests/unit/everything_test.cc"', "shm may not include tests"),
    ("api/context/a.cc", '#include "bench/floor_bench.cc"', "api/context may not include bench"),
    ("shm/a.cc", '#include "segment.h"', "written from the root"),
    ("shm/a.cc", '#include "../shm/segment.h"', "written from the root"),
    ("api/context/a.cc", '#include "lapi.h"', "written from the root"),
    ("api/include/lapi.hpp", '#include "dataplane/base/clock.h"', "may not include"),
    ("api/include/lapi_basics.hpp", '#include "dataplane/base/clock.h"', "may not include"),
    ("nic/udp/a.cc", '#include "nic/udp/../../shm/segment.h"', "written from the root"),
    ("shm/a.cc", "#include <dataplane/wire/packet_header.h>", "shm may not include"),
    ("shm/a.cc", '  #  include   "control/client/bootstrap.h"', "shm may not include"),
    ("dataplane/endpoint/a.cc", "#include <sys/socket.h>", "sockets"),
    ("api/context/a.cc", "#include <netinet/in.h>", "sockets"),
    ("dataplane/poller/a.cc", "#include <linux/udp.h>", "sockets"),
    ("nic/dpdk/a.cc", "#include <sys/socket.h>", "sockets"),
    ("dataplane/endpoint/a.cc", "#include <thread>", "threads"),
    ("nic/udp/a.cc", "#include <mutex>", "threads"),
    ("shm/a.cc", "#include <pthread.h>", "threads"),
    ("dataplane/endpoint/a.cc", "#include <chrono>", "clock"),
    ("dataplane/wire/a.cc", "#include <random>", "clock or random"),
    ("api/context/a.cc", "#include <sys/mman.h>", "memory maps"),
    ("nic/udp/udp_datapath.cc", "#include <sys/mman.h>", "memory maps"),
    ("nic/udp/a.cc", "#include <rte_ethdev.h>", "DPDK"),
    ("shm/a.cc", "#include <infiniband/verbs.h>", "verbs"),
    ("nic/dpdk/a.cc", "#include <rdma/rdma_cma.h>", "verbs"),
    ("shm/a.cc", "#include <gtest/gtest.h>", "test framework"),
    ("shm/a.cc", "#include <benchmark/benchmark.h>", "benchmark framework"),
    ("api/context/a.cc", "#include <pmix_server.h>", "PMIx"),
    ("shm/a.cc", "#include <hwloc.h>", "hwloc"),
    ("dataplane/base/a.cc", "#include <spdlog/spdlog.h>", "libraries of the tools"),
    ("nic/udp/a.cc", "int n = process_vm_readv(pid, 0, 0, 0, 0, 0);", "cross-memory attach"),
]


def check(tree):
    """Status and output of the check over a tree of files."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in tree.items():
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class CheckIncludes(unittest.TestCase):
    def test_accepts_the_good_tree(self):
        self.assertEqual(check(GOOD_TREE), (0, f"{len(GOOD_TREE)} files, 0 forbidden includes\n"))

    def test_refuses_each_bad_file(self):
        for path, text, complaint in BAD_FILES:
            with self.subTest(path=path, text=text):
                status, output = check({**GOOD_TREE, path: "\n" + text + "\n"})
                self.assertEqual(status, 1, output)
                self.assertIn(f"{path}:2: ", output)
                self.assertIn(complaint, output)
                self.assertIn(" 1 forbidden includes", output)

    def test_counts_every_mistake_of_a_file(self):
        text = "#include <thread>\n#include <sys/socket.h>\n#include <pmix.h>\n"
        status, output = check({**GOOD_TREE, "shm/a.cc": text})
        self.assertEqual(status, 1)
        self.assertIn("shm/a.cc:1: thread", output)
        self.assertIn("shm/a.cc:3: pmix.h", output)
        self.assertIn(" 2 forbidden includes", output)

    def test_refuses_an_unknown_part(self):
        status, output = check({**GOOD_TREE, "dataplane/gossip/a.h": '#include "dataplane/base/clock.h"\n'})
        self.assertEqual(status, 1)
        self.assertIn("belongs to no part", output)

    def test_its_table_has_folders_only(self):
        parts = set(check_includes.MAY_INCLUDE).union(*(allowed or [] for allowed in check_includes.MAY_INCLUDE.values()))
        root = CHECK.parents[2]
        self.assertEqual([part for part in sorted(parts) if not (root / part).is_dir()], [])

    def test_an_empty_tree_is_no_success(self):
        self.assertEqual(check({})[0], 1)


if __name__ == "__main__":
    unittest.main()
