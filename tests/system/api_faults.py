#!/usr/bin/env python3
"""Tasks that die, limits that are too small, ordinary users, many tasks: what a job does, and what it leaves behind.

    api_faults.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from api_jobs import Skip, clean_environment, expect, expect_equal, free_ports, main, wait_for

NO_CONNECTIVITY, TIMEOUT, SHM_SETUP = 434, 413, 439
COMMUNICATION_ERROR = 1
ORDINARY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def udp_list(tasks):
    return ",".join(f"127.0.0.1:{port}" for port in free_ports(tasks))


def traces():
    """What a job could leave behind on this machine. (Abstract sockets and memfds die with their last process.)"""
    return set(os.listdir("/dev/shm")) | {name for name in os.listdir("/tmp") if "openlapi" in name}


def nothing_new(before):
    wait_for(lambda: not traces() - before, f"left behind: {traces() - before}", 10)


def read_until(process, word):
    """The number behind `word` in the task's output, of which not a byte more is read."""
    line = b""
    while True:
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            raise AssertionError(f"the task ended before it said '{word}': {process.wait()} {process.stderr.read()}")
        line += byte
        if byte == b"\n":
            words = line.decode().split()
            if words[:1] == [word]:
                return int(words[1])
            line = b""


def kill_one(jobs, what, on_error, shared, mode="interrupt", tasks=3):
    """Standalone tasks; task 1 is killed when all are ready. Returns the results of the others."""
    variables = {"LAPI_USE_SHM": "only"} if shared else {"LAPI_USE_SHM": "no", "API_UDP_LIST": udp_list(tasks)}
    before = traces()
    processes = jobs.standalone_processes(tasks, ["api_fault_probe", mode, what, on_error], **variables)
    try:
        for process in processes:
            read_until(process, "ready")
        if what != "leave":
            processes[1].send_signal(signal.SIGKILL)
        results = [jobs.finish(process, 45) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    nothing_new(before)
    return [result for task, result in enumerate(results) if task != 1]


def heard_of_it(results, status):
    for result in results:
        expect_equal(result.status, status, result)
        expect(result.value("error") in (NO_CONNECTIVITY, TIMEOUT), result)
        expect_equal(result.value("kind"), COMMUNICATION_ERROR, result)
        # Who hears late may miss another task first that has ended because of the victim.
        expect(result.value("source") in (0, 1, 2) and result.value("source") != result.value("own"), result)


def test_a_killed_task_is_reported_over_shared_memory(jobs):
    for mode in ("interrupt", "polling"):
        results = kill_one(jobs, "gfence", "return", True, mode)
        heard_of_it(results, 0)
        for result in results:
            expect_equal((result.value("gfence"), result.value("ended")), (NO_CONNECTIVITY, 0), result)


def test_a_killed_task_is_reported_over_udp(jobs):
    results = kill_one(jobs, "gfence", "return", False)
    heard_of_it(results, 0)
    for result in results:
        expect_equal((result.value("gfence"), result.value("ended")), (NO_CONNECTIVITY, 0), result)


def test_operations_to_a_killed_task_end(jobs):
    for what in ("rmw", "put"):
        heard_of_it(kill_one(jobs, what, "return", True, tasks=2), 0)
        heard_of_it(kill_one(jobs, what, "return", False, "polling", tasks=2), 0)


def test_the_error_handler_may_end_everything(jobs):
    for mode in ("interrupt", "polling"):
        for what in ("gfence", "rmw"):
            results = kill_one(jobs, what, "term", True, mode)
            heard_of_it(results, 5)
            for result in results:
                expect_equal(result.value("term"), 0, result)


def test_without_error_handler_the_task_ends_with_a_message(jobs):
    for result in kill_one(jobs, "gfence", "none", True):
        expect_equal(result.status, 1, result)
        expect(re.search(r"task [02]: error (434|413).*task [012]", result.err), result)


def test_a_task_that_leaves_is_reported(jobs):
    heard_of_it(kill_one(jobs, "leave", "return", True), 0)


def test_term_and_exit_from_the_error_handler(jobs):
    for mode in ("interrupt", "polling"):
        for shared in ("only", "no"):
            # Both tasks have the same fault, so both end by themselves, one perhaps before its fault has come.
            result = jobs.launch(1, ["api_fault_probe", mode, "term_exit", "term"], LAPI_USE_SHM=shared)
            expect_equal((result.status, result.value("term")), (0, 0), result)


def test_exit_without_term(jobs):
    before = traces()
    for shared in ("only", "no"):
        for mode in ("interrupt", "polling"):
            start = time.monotonic()
            result = jobs.launch(3, ["api_fault_probe", mode, "exit", "return"], LAPI_USE_SHM=shared)
            expect_equal(result.status, 0, result)
            expect(time.monotonic() - start < 20, "exit() took too long")
    nothing_new(before)


def test_lapirun_ends_the_others(jobs):
    for shared in ("only", "no"):
        for what in ("gfence", "rmw", "put", "idle"):
            before = traces()
            process = jobs.start([jobs.lapirun, "-n", "3", jobs.program("api_fault_probe"), "interrupt", what,
                                  "return"],
                                 clean_environment(LAPI_USE_SHM=shared))
            tasks = [read_until(process, "ready") for _ in range(3)]
            os.kill(tasks[1], signal.SIGKILL)
            result = jobs.finish(process, 20)
            expect(result.status != 0, result)
            for task in tasks:
                wait_for(lambda task=task: not os.path.exists(f"/proc/{task}"), f"task {task} is still there", 5)
            nothing_new(before)


# ---- limits ----

def limited(jobs, limits, shared, code, *words):
    """Both tasks end by themselves, with this code (None: any) and a message, or they succeed."""
    variables = {"LAPI_USE_SHM": shared}
    if shared != "only":
        words = (*words, f"list={udp_list(2)}")
    for result in jobs.standalone(2, ["api_init_probe", *words], wrap=["prlimit", *limits, "--"], **variables):
        expect_equal(result.status, 0, f"{limits}\n{result}")
        if result.value("code") == 0:
            expect_equal(result.value("ended"), 1, result)
            continue
        expect("openlapi: LAPI_Init:" in result.err, result)
        if code is not None:
            expect_equal(result.value("code"), code, result)


def test_little_locked_memory(jobs):
    limited(jobs, ["--memlock=0"], "only", None)
    limited(jobs, ["--memlock=0"], "no", None)


def test_small_files(jobs):
    """RLIMIT_FSIZE also bounds shared memory; its signal must not end the task."""
    limited(jobs, ["--fsize=65536"], "only", SHM_SETUP)
    limited(jobs, ["--fsize=65536"], "yes", None)


def test_few_descriptors(jobs):
    for shared in ("only", "no"):
        for number in range(5, 20):
            limited(jobs, [f"--nofile={number}"], shared, None)


def test_little_address_space(jobs):
    for megabytes in (40, 80, 120, 200):
        for shared in ("only", "no"):
            limited(jobs, [f"--as={megabytes << 20}"], shared, None)


def in_own_mounts(script):
    return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False,
                          env=clean_environment(), timeout=60)


def test_full_dev_shm(jobs):
    probe = in_own_mounts("mount -t tmpfs -o size=4k none /dev/shm")
    if probe.returncode != 0:
        raise Skip("no right to make mount namespaces")
    script = ("mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/full; "
              f"LAPI_USE_SHM=%s {jobs.lapirun} -n 2 {jobs.program('api_init_probe')}")
    for shared in ("only", "yes"):
        result = in_own_mounts(script % shared)
        if "code 0" in result.stdout:
            expect_equal((result.returncode, result.stdout.count("ended 1")), (0, 2), f"{result.stdout}{result.stderr}")
        else:
            expect_equal((shared, result.stdout.count(f"code {SHM_SETUP}")), ("only", 2),
                         f"{result.stdout}{result.stderr}")


# ---- users ----

def ordinary_user_can(jobs):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise Skip("only root can become somebody else")
    seen = subprocess.run([*ORDINARY, jobs.program("api_init_probe"), "silent"], capture_output=True, text=True,
                          check=False, env=jobs.task_environment(1, 0, LAPI_USE_SHM="only"))
    if seen.returncode != 0 or "code 0" not in seen.stdout:
        if "ermission denied" in seen.stderr:
            raise Skip("another user may not read the build directory")
        raise AssertionError(f"{seen.stdout}{seen.stderr}")


def test_an_ordinary_user(jobs):
    ordinary_user_can(jobs)
    for shared in ("only", "no"):
        for mode in ("interrupt", "polling"):
            command = [*ORDINARY, jobs.lapirun, "-n", "2", jobs.program("api_storm"), mode, "300"]
            result = jobs.finish(jobs.start(command, clean_environment(LAPI_USE_SHM=shared)))
            expect_equal(result.status, 0, result)


def test_memory_that_may_not_be_read(jobs):
    """Without the right to read each other's memory, long messages come through slots."""
    ordinary_user_can(jobs)
    for result in jobs.standalone(2, ["api_init_probe", "undumpable"], wrap=ORDINARY, LAPI_USE_SHM="only"):
        expect_equal((result.status, result.value("code"), result.value("ended")), (0, 0, 1), result)
        expect(result.value("attach_failures") >= 1, result)
    for result in jobs.standalone(2, ["api_init_probe"], wrap=ORDINARY, LAPI_USE_SHM="only"):
        expect_equal((result.value("ended"), result.value("attach_failures")), (1, 0), result)


# ---- many tasks ----

def test_128_tasks_share_memory(jobs):
    result = jobs.launch(128, ["api_init_probe"], LAPI_USE_SHM="only")
    expect_equal((result.status, result.out.count("ended 1")), (0, 128), str(result)[-3000:])
    expect_equal((result.value("shm_tasks"), result.value("network_bytes")), (128, 0), "")


def test_129_tasks_do_not(jobs):
    result = jobs.launch(129, ["api_init_probe", "silent"], LAPI_USE_SHM="only")
    expect_equal(result.out.count(f"code {SHM_SETUP}"), 129, str(result)[-3000:])
    expect("128" in result.err, result.err[-500:])
    result = jobs.launch(129, ["api_init_probe"], LAPI_USE_SHM="yes", MP_INFOLEVEL="1")
    expect_equal((result.status, result.out.count("ended 1")), (0, 129), str(result)[-3000:])
    expect_equal((result.value("shm_enabled"), result.value("protocol")), (0, 1), "")
    expect("0031-50" in result.err, result.err[-500:])


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
