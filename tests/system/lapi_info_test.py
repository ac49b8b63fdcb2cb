#!/usr/bin/env python3
"""lapi_info as a user runs it.   lapi_info_test.py LAPI_INFO MODULES LAPIRUN"""
import ctypes
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

LAPI_INFO, MODULES, LAPIRUN = sys.argv[1:4]  # and the folder of tests/support/modules


def run(*arguments, before=None, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MP_", "LAPI_", "OPENLAPI_"))}
    return subprocess.run([LAPI_INFO, *arguments], capture_output=True, text=True, timeout=60, preexec_fn=before,
                          env={**clean, **environment})


MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def run_job(tasks, *arguments, launcher=(LAPIRUN,), **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MP_", "LAPI_", "OPENLAPI_"))}
    return subprocess.run([*launcher, "-n", str(tasks), LAPI_INFO, *arguments], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env={**clean, **environment})


def refuse_32_bit_programs():
    """For a child before it begins: as on a kernel without them, but that they die instead of not beginning. A filter
    of system calls ends who makes one by another entry than that of 64-bit programs."""
    set_no_new_privileges, set_seccomp, filter_mode, x86_64 = 38, 22, 2, 0xC000003E
    load_entry, jump_if_equal, kill, allow = (0x20, 0, 0, 4), (0x15, 1, 0, x86_64), (6, 0, 0, 1 << 31), (6, 0, 0, 0x7FFF0000)
    steps = b"".join(struct.pack("HBBI", *step) for step in (load_entry, jump_if_equal, kill, allow))
    text = ctypes.create_string_buffer(steps)
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(set_no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_seccomp, filter_mode, program) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class LapiInfo(unittest.TestCase):
    def test_mistyped_variables_are_named(self):
        for words in ((), ("--env",), ("--env", "--json")):
            done = run(*words, LAPI_USE_SHMEM="1")
            self.assertEqual((done.returncode, done.stderr), (0, "lapi_info: LAPI_USE_SHMEM is set, and is no variable of "
                                                              "openlapi's: did you mean LAPI_USE_SHM?\n"))

    def test_what_cannot_be_written_is_said(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([LAPI_INFO], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "lapi_info: cannot write: No space left on device\n"))

    def test_lam_and_its_module(self):
        """A program stands for LAM's laminfo; tests/packages has the real one."""
        with tempfile.TemporaryDirectory() as folder:
            surroundings = {"PATH": f"/nowhere:{folder}", "OPENLAPI_LIBRARY_FOLDER": folder}
            self.assertIn("\nLAM/MPI\n  not on this machine (no laminfo in LAMHOME and PATH)\n", run(**surroundings).stdout)
            laminfo, module = os.path.join(folder, "laminfo"), os.path.join(folder, "ssi_rpi_lapi.so")
            with open(laminfo, "w", encoding="ascii") as file:
                file.write('#!/bin/sh\necho "SSI rpi: $WORD (API v1.1)"\necho "of $LAM_MPI_SSI_base_module_path"\necho " " >&2\n')
            os.chmod(laminfo, 0o755)
            self.assertIn(f"\n  {laminfo}; its rpi module lapi is not usable: ssi_rpi_lapi.so is not installed\n",
                          run(**surroundings).stdout)
            with open(module, "w", encoding="ascii"):
                pass
            self.assertIn(f"\n  {laminfo} finds the rpi module lapi: mpirun -ssi base_module_path {folder} -ssi rpi lapi\n",
                          run(WORD="lapi", **surroundings).stdout)
            told = json.loads(run("--json", WORD="tcp", **surroundings).stdout)["lam_mpi"]
            self.assertEqual(told, {"program": laminfo, "module_folder": folder, "finds_module": False,
                                    "reason": f"laminfo does not list it: of {folder}"})
            elsewhere = {**surroundings, "PATH": "/nowhere", "LAMHOME": folder, "WORD": "lapi"}
            self.assertIn("not on this machine", run(**elsewhere).stdout)
            os.mkdir(os.path.join(folder, "bin"))
            os.rename(laminfo, os.path.join(folder, "bin/laminfo"))
            self.assertIn(f"  {folder}/bin/laminfo finds the rpi module lapi", run(**elsewhere).stdout)

    def test_text_and_json_say_the_same(self):
        text = run()
        self.assertEqual(text.returncode, 0, text.stderr)
        document = json.loads(run("--json").stdout)
        self.assertIn(document["version"], text.stdout)
        self.assertIn(document["build_stamp"], text.stdout)
        self.assertEqual([transport["name"] for transport in document["transports"]], ["shm", "udp", "verbs", "dpdk"])
        for transport in document["transports"]:
            self.assertIn(transport["name"], text.stdout)
            self.assertNotEqual(transport["usable"], bool(transport["reason"]), "a reason exactly when it is not usable")
            for note in transport["notes"]:
                self.assertIn(note, text.stdout)
        self.assertEqual(document["cores"], os.cpu_count())
        self.assertEqual(document["allowed_cores"], sorted(os.sched_getaffinity(0)))
        self.assertLessEqual({"memlock", "nofile"}, set(document["limits"]))

    def test_loopback_is_listed(self):
        udp = json.loads(run("--json").stdout)["transports"][1]
        self.assertTrue(udp["usable"], udp)
        self.assertIn("127.0.0.1", [adapter["address"] for adapter in udp["adapters"]])

    def test_modules_are_reported_with_their_devices(self):
        chosen = {"OPENLAPI_LIBRARY_FOLDER": MODULES, "OPENLAPI_MODULES": "second,absent,other_version"}
        second, absent, other = json.loads(run("--json", **chosen).stdout)["transports"][2:]
        self.assertEqual((second["name"], second["built"], second["usable"], second["reason"]),
                         ("second", True, True, ""))
        self.assertEqual(second["devices"], [
            {"name": "second", "state": "always up", "reason": "", "chosen": True},
            {"name": "broken", "state": "DOWN", "reason": "it is broken", "chosen": False}])
        self.assertFalse(absent["built"] or absent["usable"] or other["built"] or other["usable"])
        self.assertIn("libopenlapi-absent.so is not installed: it was looked for in " + MODULES, absent["reason"])
        self.assertIn("is of another openlapi", other["reason"])
        text = run(**chosen).stdout
        self.assertIn("device second always up (used when none is named)\n", text)
        self.assertIn("device broken DOWN, not usable: it is broken\n", text)
        self.assertIn("absent  not built: libopenlapi-absent.so", text)

    def test_modules_are_looked_for_beside_the_library(self):
        library = os.path.dirname(os.path.realpath(LAPI_INFO))
        reason = json.loads(run("--json", OPENLAPI_MODULES="absent").stdout)["transports"][2]["reason"]
        self.assertIn(f"{library}/openlapi and {os.path.dirname(library)}/openlapi", reason)

    def test_reason_for_what_is_refused(self):
        # No descriptor is left for the transports' files and sockets.
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        result = run("--json", before=few_files)
        self.assertEqual(result.returncode, 0, result.stderr)
        shm, udp = json.loads(result.stdout)["transports"][:2]
        self.assertFalse(shm["usable"])
        self.assertTrue(shm["reason"])
        self.assertFalse(udp["usable"])
        self.assertTrue(udp["reason"])

    def test_bound_process(self):
        core = min(os.sched_getaffinity(0))
        document = json.loads(run("--json", before=lambda: os.sched_setaffinity(0, {core})).stdout)
        self.assertEqual(document["allowed_cores"], [core])

    def test_dataplane_thread(self):
        processor = max(os.sched_getaffinity(0))
        chosen = {"OPENLAPI_THREAD_POLICY": "sleep", "OPENLAPI_THREAD_CPU": str(processor)}
        wanted = f"sleep, pinned to processor {processor}: OPENLAPI_THREAD_CPU"
        self.assertEqual(json.loads(run("--json", **chosen).stdout)["dataplane_thread"], wanted)
        self.assertIn(f"dataplane thread of a lone task: {wanted}\n", run(**chosen).stdout)
        refused = json.loads(run("--json", OPENLAPI_THREAD_POLICY="lazy").stdout)["dataplane_thread"]
        self.assertIn("would refuse OPENLAPI_THREAD_POLICY=lazy: allowed is one of adaptive spin sleep", refused)
        environment = run("--env", OPENLAPI_THREAD_CPU="far")
        self.assertEqual(environment.returncode, 1)
        self.assertIn("far  <- not allowed", environment.stdout)

    def test_it_says_whether_32_bit_tasks_run(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "narrow")
            subprocess.run(["gcc", "-m32", "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True,
                           check=True)
            try:
                runs = subprocess.run([program], check=False).returncode == 0
            except OSError:
                runs = False
        self.assertEqual(json.loads(run("--json").stdout)["runs_32_bit_tasks"], runs)
        self.assertEqual("\n  32-bit tasks run here\n" in run().stdout, runs)

        # Of a name space of processes, so that no other is told.
        setting = "/proc/sys/vm/memfd_noexec"
        if os.geteuid() == 0 and os.path.exists(setting):
            said = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                                   f'echo 1 >{setting} && exec "$0" --json', LAPI_INFO],
                                  stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual(json.loads(said)["runs_32_bit_tasks"], runs, "where files in memory are not run unasked")

    def test_it_says_that_the_kernel_runs_no_32_bit_tasks(self):
        self.assertFalse(json.loads(run("--json", before=refuse_32_bit_programs).stdout)["runs_32_bit_tasks"])
        self.assertIn("no 32-bit tasks: the kernel refuses 32-bit programs (",
                      run(before=refuse_32_bit_programs).stdout)

    def test_environment(self):
        result = run("--env", MP_ACK_THRESH="7")
        self.assertEqual(result.returncode, 0, result.stdout)
        for name in ("MP_MSG_API", "MP_EUILIB", "MP_EUIDEVICE", "MP_PROCS", "MP_CHILD", "MP_PARTITION", "MP_COMMON_TASKS",
                     "MP_LAPI_INET_ADDR", "LAPI_USE_SHM", "MP_ACK_THRESH", "MP_POLLING_INTERVAL",
                     "MP_RETRANSMIT_INTERVAL", "MP_REXMIT_BUF_CNT", "MP_REXMIT_BUF_SIZE", "MP_UDP_PACKET_SIZE",
                     "MP_DEBUG_NOTIMEOUT", "MP_INFOLEVEL", "MP_LAPI_TRACE_LEVEL"):
            self.assertIn(f"\n{name}\n", "\n" + result.stdout)
        settings = {entry["name"]: entry for entry in json.loads(run("--env", "--json", MP_ACK_THRESH="7").stdout)["environment"]}
        self.assertEqual(settings["MP_ACK_THRESH"]["present"], "7")
        self.assertEqual(settings["MP_ACK_THRESH"]["default"], "30")
        self.assertIsNone(settings["MP_PROCS"]["present"])

    def test_wrong_variable(self):
        result = run("--env", MP_ACK_THRESH="99")
        self.assertEqual(result.returncode, 1)
        self.assertIn("99  <- not allowed", result.stdout)

    def test_ways_of_a_job(self):
        for shared_memory, way in (("only", "shm"), ("no", "udp")):
            result = run_job(3, "--job", "--json", LAPI_USE_SHM=shared_memory)
            self.assertEqual(result.returncode, 0, result.stderr)
            job = json.loads(result.stdout)["job"]
            self.assertEqual([row["task"] for row in job], [0, 1, 2])
            others = {0: "1-2", 1: "0,2", 2: "0-1"}
            for row in job:
                ways = {entry["way"].split(",")[0]: entry["tasks"] for entry in row["ways"]}
                self.assertEqual(ways, {"local copy": str(row["task"]), way: others[row["task"]]})
            text = run_job(3, "--job", LAPI_USE_SHM=shared_memory).stdout
            self.assertIn(f"task 1 on {os.uname().nodename}\n  local copy: 1\n  {way}", text)

    def test_memory_is_shared_under_every_launcher(self):
        for launcher in ([LAPIRUN], MPIRUN):
            result = run_job(2, "--job", "--json", launcher=launcher, MP_INFOLEVEL="1")
            self.assertEqual(result.returncode, 0, result.stderr)
            ways = [entry["way"] for row in json.loads(result.stdout)["job"] for entry in row["ways"]]
            self.assertEqual(sorted(ways), ["local copy", "local copy", "shm", "shm"], launcher)
            self.assertIn("openlapi: task 0 talks to 1 other: all through shared memory\n", result.stderr)
            result = run_job(2, "--job", launcher=launcher, LAPI_USE_SHM="no", MP_INFOLEVEL="1")
            self.assertIn("openlapi: task 0 talks to 1 other: all over udp\n", result.stderr)

    def test_ways_over_modules_and_none(self):
        chosen = {"MP_EUILIB": "us", "LAPI_USE_SHM": "no", "OPENLAPI_LIBRARY_FOLDER": MODULES}
        result = run_job(2, "--job", OPENLAPI_MODULES="second", **chosen)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("second", result.stdout)
        result = run_job(2, "--job", OPENLAPI_MODULES="absent", **chosen)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("LAPI_Init failed", result.stderr)
        self.assertIn("libopenlapi-absent.so", result.stderr)

    def test_several_paths_to_a_task_are_shown_each(self):
        several = {"LAPI_USE_SHM": "no", "MP_LAPI_INET_ADDR": "@2:127.0.0.1,lo:127.0.0.2,lo"}
        result = run_job(3, "--job", "--json", **several)
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in json.loads(result.stdout)["job"]:
            others = [task for task in range(3) if task != row["task"]]
            self.assertEqual([path["task"] for path in row["paths"]], [task for task in others for _ in range(2)])
            for first, second in zip(row["paths"][::2], row["paths"][1::2]):
                self.assertRegex(first["path"], r"^adapter 0 \(udp, 127\.0\.0\.1 to 127\.0\.0\.1 port [0-9]+\)$")
                self.assertRegex(second["path"], r"^adapter 1 \(udp, 127\.0\.0\.2 to 127\.0\.0\.2 port [0-9]+\)$")
                self.assertAlmostEqual(first["share"] + second["share"], 1)
                self.assertGreater(first["packets"] + second["packets"], 0)
                self.assertGreater(first["bytes"] + second["bytes"], 16384)
                self.assertEqual([first["failures"], second["failures"]], [0, 0])
                self.assertLessEqual(first["lost"], first["packets"])
                self.assertGreater(first["round_trip_us"] + second["round_trip_us"], 0)
        text = run_job(2, "--job", **several).stdout
        self.assertRegex(text, r"(?m)^  to task 1: adapter 1 \(udp, [^)]*\): [^,]*, [0-9]+ % of the bytes, [0-9]+ in "
                               r"[0-9]+ packets, [0-9]+ of them again, [0-9]+ lost, round trip ")
        self.assertIn("paths\": []", run_job(2, "--job", "--json", LAPI_USE_SHM="no").stdout, "of one path nothing more")

    def test_an_adapter_that_does_not_open_is_said(self):
        asked = {"MP_EUILIB": "us", "LAPI_USE_SHM": "no", "OPENLAPI_LIBRARY_FOLDER": MODULES, "OPENLAPI_MODULES": "second",
                 "MP_LAPI_NETWORK": "@2:1,second:2,broken"}
        for level, times in (("1", 2), ("0", 0)):
            result = run_job(2, "--job", MP_INFOLEVEL=level, **asked)
            self.assertEqual((result.returncode, result.stderr.count("ATTENTION: 0031-485 ")), (0, times), result.stderr)
            self.assertEqual(result.stderr.count("has 1 of the 2 adapters that were asked for (second: there is no device "
                                                 "'broken'"), times, result.stderr)

    def test_help_version_and_mistakes(self):
        self.assertIn("--env", run("--help").stdout)
        self.assertIn("openlapi", run("--version").stdout)
        wrong = run("--nonsense")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--nonsense", wrong.stderr)
        self.assertEqual(run("--env", "--job").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
