#!/usr/bin/env python3
"""deploy/hardware-check beside an adapter and a build that are made up: what it says of them, and its status.

    hardware_check_test.py HARDWARE_CHECK"""
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

sys.dont_write_bytecode = True
CHECK = sys.argv.pop()

LATENCY_ROW = " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec]\n 2 1000 1.61 4.95 1.70 1.72 0.05 1.81 4.95\n"
BANDWIDTH_ROW = " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n 1048576 1000 11500.1 11498.50 0.011498\n"
ROWS = [{"operation": "put", "size": 8, "median_us": 1.25, "ratio": 1.1, "floor": "ib_send_lat"},
        {"operation": "rate", "size": 8, "median_us": None, "ratio": None, "floor": ""}]
INFO = "Transports\n  verbs   usable\n  dpdk    not usable: no port\n"


def load():
    loader = importlib.machinery.SourceFileLoader("hardware_check", CHECK)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("hardware_check", loader))
    loader.exec_module(module)
    return module


class HardwareCheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.module = load()
        self.module.RDMA = self.folder / "infiniband"
        for name, row in (("ib_send_lat", LATENCY_ROW), ("ib_write_lat", LATENCY_ROW), ("ib_read_bw", BANDWIDTH_ROW)):
            self.program(f"bin/{name}", f"cat <<'END'\n{row}END")
        self.program("build/control/lapirun", 'while [ "$1" != --json ]; do shift; done\n'
                     f"echo '{json.dumps({'rows': ROWS})}' >$2")
        self.program("build/bench/lapi_perf", "exit 1")
        self.info(INFO)

    def info(self, text):
        self.program("build/api/lapi_info", f"cat <<'END'\n{text}END")

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def adapter(self, name, state="4: ACTIVE", driver="irdma"):
        port = self.module.RDMA / name / "ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text(state)
        (self.module.RDMA / name / "device").mkdir()
        (self.module.RDMA / name / "device/uevent").write_text(f"DRIVER={driver}\nPCI_CLASS=20000\n")

    def run_check(self, *words):
        """Status, what is printed, and the report."""
        report, printed, said = self.folder / "report.txt", io.StringIO(), io.StringIO()
        words = [CHECK, "--quick", "--build", str(self.folder / "build"), "--report", str(report), *words]
        path = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        with mock.patch.object(sys, "argv", words), mock.patch.dict(os.environ, path), redirect_stdout(printed), \
                redirect_stderr(said):
            try:
                status = self.module.main()
            except SystemExit as ended:
                status = ended.code
        return status, printed.getvalue() + said.getvalue(), report.read_text() if report.exists() else ""

    def test_a_machine_without_adapters_has_nothing_to_try(self):
        self.info(INFO.replace("verbs   usable", "verbs   not usable: this machine has no RDMA device"))
        status, printed, report = self.run_check()
        self.assertEqual(status, 2)
        self.assertIn("no RDMA device", printed)
        self.assertIn("no RDMA device", report)

    def test_a_port_that_is_down_is_not_tried(self):
        self.adapter("mlx5_0", "1: DOWN")
        status, printed, report = self.run_check()
        self.assertEqual(status, 2, printed)
        self.assertIn("ports/1/state: 1: DOWN", report)

    def test_an_adapter_that_works(self):
        self.adapter("mlx5_0")
        status, printed, report = self.run_check()
        self.assertEqual(status, 0, printed)
        for line in ("works   mlx5_0:1 ib_send_lat -c UD: 1.70 us\n", "works   mlx5_0:1 ib_write_lat: 1.70 us\n",
                     "works   mlx5_0:1 ib_read_bw -s 1048576: 11498.50 MB/s\n",
                     "works   mlx5_0:1 rc packets, polling: put 8 B 1.25 us, 1.10 of ib_send_lat\n",
                     "works   mlx5_0:1 bulk transfer: ", "\n11 of 11 work. Report: "):
            self.assertIn(line, printed)
        self.assertIn("MP_EUIDEVICE=mlx5_0:1 OPENLAPI_VERBS_PACKETS=ud MP_USE_BULK_XFER=no", report)
        self.assertNotIn("sn_all", report)

    def test_several_adapters_are_tried_together_too(self):
        self.adapter("mlx5_0")
        self.adapter("mlx5_1")
        status, printed, _ = self.run_check()
        self.assertEqual(status, 0, printed)
        self.assertIn("works   sn_all rc packets, polling: put 8 B 1.25 us", printed)
        status, printed, _ = self.run_check("--devices", "mlx5_1")
        self.assertEqual(status, 0, printed)
        self.assertNotIn("mlx5_0", printed)

    def test_rings_are_tried_where_adapters_place_bytes_in_order_or_on_demand(self):
        self.adapter("roce0", driver="mlx5_core")
        status, printed, report = self.run_check()
        self.assertEqual(status, 0, printed)
        self.assertIn("works   roce0:1 packets in rings, polling: put 8 B 1.25 us", printed)
        self.assertIn("works   roce0:1 packets in rings, interrupt: ", printed)
        self.assertIn("\n14 of 14 work. ", printed)
        self.assertIn("OPENLAPI_VERBS_PACKETS=rc OPENLAPI_VERBS_RINGS=yes MP_USE_BULK_XFER=no", report)
        self.adapter("irdma0")
        status, printed, report = self.run_check()
        self.assertEqual(status, 0, printed)
        for other in ("irdma0:1", "sn_all"):
            self.assertIn(f"works   {other} rc packets, polling: ", printed)
            self.assertNotIn(f"{other} packets in rings", printed)
        status, printed, report = self.run_check("--rings")
        self.assertEqual(status, 0, printed)
        for one in ("roce0:1", "irdma0:1", "sn_all"):
            self.assertIn(f"works   {one} packets in rings, polling: ", printed)

    def test_gets_without_the_target_are_tried_where_adapters_page_all_memory(self):
        self.adapter("mlx5_0")
        self.adapter("irdma0")
        self.program("bin/ibv_devinfo", "case $* in *mlx5_0) echo '  general_odp_caps: ODP_SUPPORT ODP_SUPPORT_IMPLICIT' ;; esac")
        status, printed, report = self.run_check()
        self.assertEqual(status, 0, printed)
        self.assertIn("works   mlx5_0:1 gets without the target: put 8 B 1.25 us", printed)
        self.assertIn("MP_EUIDEVICE=mlx5_0:1 OPENLAPI_VERBS_ONE_SIDED=get", report)
        for other in ("irdma0:1", "sn_all"):
            self.assertIn(f"works   {other} bulk transfer: ", printed)
            self.assertNotIn(f"{other} gets without the target", printed)

    def test_what_fails_is_said_with_its_reason(self):
        self.adapter("mlx5_0")
        self.program("build/control/lapirun", "echo 'openlapi: LAPI_Init: no peer can be added'; exit 3")
        self.program("bin/ib_write_lat", "echo \"Couldn't listen to port 18515\"; exit 1")
        status, printed, report = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("FAILED  mlx5_0:1 ib_write_lat: Couldn't listen to port 18515\n", printed)
        self.assertIn("FAILED  mlx5_0:1 ud packets, polling: openlapi: LAPI_Init: no peer can be added\n", printed)
        self.assertIn("\n3 of 11 work. ", printed)
        self.assertIn("status 3", report)

    def test_a_machine_without_perftest(self):
        self.adapter("mlx5_0")
        here = self.module.shutil.which
        with mock.patch.object(self.module.shutil, "which", lambda name: None if name.startswith("ib_") else here(name)):
            status, printed, _ = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("FAILED  mlx5_0:1 ib_write_lat: ib_write_lat is not in PATH (Debian: perftest)\n", printed)
        self.assertIn("\n7 of 11 work. ", printed)

    def test_what_does_not_end_is_ended(self):
        self.adapter("mlx5_0")
        self.program("build/control/lapirun", "exec sleep 1000")
        self.module.SECONDS = 1
        status, printed, _ = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("FAILED  mlx5_0:1 bulk transfer: it has not ended after 1 seconds\n", printed)

    def test_words_that_are_not_allowed_are_refused(self):
        self.adapter("mlx5_0")
        status, printed, _ = self.run_check("--devices", "mlx4_0")
        self.assertEqual(status, 2)
        self.assertIn("--devices 'mlx4_0': there is no such RDMA device; there are: mlx5_0", printed)
        status, printed, _ = self.run_check("--report", str(self.folder / "none/report"))
        self.assertEqual(status, 2)
        self.assertIn("cannot be written: No such file or directory", printed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
