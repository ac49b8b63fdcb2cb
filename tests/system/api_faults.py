#!/usr/bin/env python3
"""Tasks that die, limits that are too small, ordinary users: what a job does, and what it leaves behind.

    api_faults.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from api_jobs import Skip, clean_environment, expect, expect_equal, free_ports, main, stop, wait_for

UNKNOWN, NO_CONNECTIVITY, TIMEOUT, MEMORY_EXHAUSTED, SHM_SETUP = 400, 434, 413, 423, 439
COMMUNICATION_ERROR = 1
ORDINARY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def udp_list(tasks):
    return ",".join(f"127.0.0.1:{port}" for port in free_ports(tasks))


def traces():
    """What a job could leave behind on this machine. (Abstract sockets and memfds die with their last process. lapirun's
    folders are tried by its own tests, and may be those of another run. In /tmp other tests have folders, openlapi-...,
    which come and go.)"""
    in_memory = {name for name in os.listdir("/dev/shm") if not name.startswith("lapirun-")}
    return in_memory | {name for name in os.listdir("/tmp") if re.search("openlapi(?!-(?!agent-))", name)}


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


def test_shared_memory_that_a_task_does_not_come_to_is_missed_aloud(jobs):
    """At level 0, once, whichever task it is; the set-up waits for it for ten seconds."""
    for absent in (0, 1):
        script = f"[ $PMIX_RANK != {absent} ] || export LAPI_USE_SHM=no; exec {jobs.program('api_init_probe')} silent"
        result = jobs.launch(2, ["/bin/sh", "-c", script], LAPI_USE_SHM="yes")
        said = [line for line in result.err.splitlines() if "talk over the network" in line]
        expect_equal((result.status, len(said)), (0, 1), result)
        expect(f"openlapi: task {1 - absent}: task {absent} did not " in said[0] and "LAPI_USE_SHM=no" in said[0], result)
        # They meet at an abstract socket, which a namespace hides; their memory has no name in /dev/shm.
        expect("network namespace" in said[0] and "/dev/shm" not in said[0], result)


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


def test_puts_to_a_killed_task_that_nobody_waits_for_end(jobs):
    for mode in ("interrupt", "polling"):
        for shared in (True, False):
            results = kill_one(jobs, "bare", "return", shared, mode, tasks=2)
            heard_of_it(results, 0)
            expect_equal([result.value("talk") for result in results], [NO_CONNECTIVITY], results)


def test_a_send_completion_handler_hears_of_a_killed_target(jobs):
    for shared in (True, False):
        results = kill_one(jobs, "xfer", "return", shared, "polling", tasks=2)
        heard_of_it(results, 0)
        for result in results:
            told = [result.value(word) for word in ("target", "untold", "uncounted")]
            expect_equal(told, [1, 0, 1], result)
            expect_equal(result.value("reason"), result.value("error"), result)


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


def first_of_two(jobs, words, **variables):
    """Task 0 of two, whose other task never comes."""
    return jobs.finish(jobs.start([jobs.program(words[0]), *words[1:]], jobs.task_environment(2, 0, **variables)), 45)


def test_a_task_that_never_comes(jobs):
    result = first_of_two(jobs, ["api_init_probe", "silent"], LAPI_USE_SHM="only")
    expect_equal(result.value("code"), TIMEOUT, result)
    expect("openlapi: LAPI_Init:" in result.err and "task 1 did not join" in result.err, result)
    # Over UDP nobody is waited for in LAPI_Init: the first call that needs the other task finds out.
    for mode in ("interrupt", "polling"):
        result = first_of_two(jobs, ["api_fault_probe", mode, "missing", "return"], LAPI_USE_SHM="no",
                              API_UDP_LIST=udp_list(2))
        expect_equal((result.status, result.value("error"), result.value("source")), (0, TIMEOUT, 1), result)
        expect_equal((result.value("gfence"), result.value("ended")), (NO_CONNECTIVITY, 0), result)


def stop_one(jobs, mode, shared, what="flood", **variables):
    """Two standalone tasks, of which task 1 is stopped before the other floods it, or does what is said."""
    places = {"LAPI_USE_SHM": "only"} if shared else {"LAPI_USE_SHM": "no", "API_UDP_LIST": udp_list(2)}
    processes = jobs.standalone_processes(2, ["api_fault_probe", mode, what, "return"], **places, **variables)
    for process in processes:
        read_until(process, "ready")
    stop(processes[1])
    processes[0].stdin.write("\n")
    processes[0].stdin.flush()
    return processes


def end_first(jobs, processes):
    """The result of the first one, which ends by itself; the others are ended."""
    try:
        return jobs.finish(processes[0], 45)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_term_says_what_a_stopped_task_has_not_taken(jobs):
    before = traces()
    for mode in ("interrupt", "polling"):
        for shared in (True, False):
            for seconds in ("0", "1"):
                result = end_first(jobs, stop_one(jobs, mode, shared, "left", OPENLAPI_TERM_WAIT=seconds))
                expect_equal((result.status, result.value("ended")), (0, 0), result)
                said = re.search(r"task 0, LAPI_Term: other tasks have not taken (\d+) messages? within (\d+) s",
                                 result.err)
                expect(said is not None, f"{mode}, shared memory {shared}: nothing was said\n{result}")
                expect(int(said[1]) > 0, result)
                expect_equal(said[2], seconds, result)
    nothing_new(before)


def test_term_says_what_was_not_answered_and_not_accepted(jobs):
    kinds = {"left_get": "other tasks have not answered 6 requests",
             "left_own": "its own header handlers have not taken 3 messages"}
    for what, words in kinds.items():
        for mode, shared in (("interrupt", False), ("polling", True)):
            result = end_first(jobs, stop_one(jobs, mode, shared, what, OPENLAPI_TERM_WAIT="1"))
            expect_equal((result.status, result.value("ended")), (0, 0), result)
            expect(f"task 0, LAPI_Term: {words} within 1 s" in result.err, result)


def test_stopped_tasks_time_out_unless_they_are_debugged(jobs):
    """MP_DEBUG_NOTIMEOUT: what the one job reports after TIMEOUT the other one, which began earlier, does not."""
    before = traces()
    for mode in ("interrupt", "polling"):
        pairs = []
        try:
            for shared in (True, False):
                for value in ("yes", "no"):
                    pairs.append(stop_one(jobs, mode, shared, MP_DEBUG_NOTIMEOUT=value))
            debugged, ordinary = pairs[0::2], pairs[1::2]
            for first, victim in ordinary:
                result = jobs.finish(first, 45)
                expect_equal((result.value("error"), result.value("source")), (TIMEOUT, 1), result)
                expect_equal(result.value("put"), NO_CONNECTIVITY, f"the call that waited for room\n{result}")
                expect_equal((result.status, result.value("ended")), (0, 0), result)
                victim.kill()
            for first, victim in debugged:
                expect(first.poll() is None, f"the debugged task has ended: {first.returncode}")
                victim.send_signal(signal.SIGCONT)
                for process in (first, victim):
                    result = jobs.finish(process, 45)
                    expect_equal((result.status, result.value("errors"), result.value("put"), result.value("gfence"),
                                  result.value("ended")), (0, 0, 0, 0, 0), f"{mode}\n{result}")
        finally:
            for process in [process for pair in pairs for process in pair]:
                process.kill()
                process.wait()
    nothing_new(before)


def switches(process):
    """How often the threads of a task beside its first one went to sleep."""
    total = 0
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        if int(thread) != process.pid:
            with open(f"/proc/{process.pid}/task/{thread}/status", encoding="ascii") as file:
                total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M).group(1))
    return total


def test_idle_tasks_sleep_as_long_as_they_may(jobs):
    """MP_POLLING_INTERVAL: of two tasks without anything to do the one wakes up again and again, the other does not."""
    for shared in (True, False):
        tasks = []
        try:
            for interval in ("2147483647", "10001"):
                places = {"LAPI_USE_SHM": "only"} if shared else {"LAPI_USE_SHM": "no", "API_UDP_LIST": udp_list(1)}
                tasks += jobs.standalone_processes(1, ["api_fault_probe", "interrupt", "idle", "return"],
                                                   MP_POLLING_INTERVAL=interval, **places)
                read_until(tasks[-1], "ready")
            patient, restless = tasks
            start = switches(restless)
            wait_for(lambda: switches(restless) >= start + 20, "the task with the short interval sleeps on")
            before, start = switches(patient), switches(restless)
            wait_for(lambda: switches(restless) >= start + 50, "the task with the short interval sleeps on")
            expect(switches(patient) <= before + 2, f"the patient task woke up: {before} {switches(patient)}")
        finally:
            for task in tasks:
                task.kill()
                task.wait()


LOSE_LAUNCHER = """
[ "$PMIX_RANK" = 0 ] || exec "$0" silent  # does not come to the second LAPI_Init
setsid "$0" silent again >"$1/out" 2>"$1/err" &  # out of the group, which the watcher kills
echo $! >"$1/pid"
wait
"""


def content(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_a_launcher_that_dies_during_init(jobs):
    """The tasks' addresses are exchanged by the launcher; a task that it did not start itself outlives it."""
    with tempfile.TemporaryDirectory() as folder:
        out, err, pid = (os.path.join(folder, name) for name in ("out", "err", "pid"))
        process = jobs.start([jobs.lapirun, "-n", "2", "sh", "-c", LOSE_LAUNCHER, jobs.program("api_init_probe"),
                              folder], clean_environment(LAPI_USE_SHM="no", MP_INFOLEVEL="2"))
        try:
            wait_for(lambda: content(err).count("0031-509") == 2, "the task did not get as far as its second port")
            process.kill()
            process.wait()
            wait_for(lambda: f"again {UNKNOWN}\n" in content(out), "LAPI_Init did not return LAPI_ERR_UNKNOWN")
            expect("openlapi: LAPI_Init: the tasks' addresses could not be exchanged: " in content(err), content(err))
        finally:
            process.kill()
            process.wait()
            if os.path.exists(f"/proc/{content(pid).strip() or 0}"):
                os.kill(int(content(pid)), signal.SIGKILL)


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


ONE_WITHOUT_INIT = '[ "$PMIX_RANK" = "$1" ] && exit 0; exec "$0" silent'
ENDS_LATER = """
"$0" silent || exit 9
if [ "$PMIX_RANK" = 0 ]; then while [ ! -e "$1" ]; do sleep 0.01; done; else touch "$1"; fi
"""


def test_a_task_that_ends_before_init(jobs):
    """With status 0, while the others wait in LAPI_Init for it."""
    for shared in ("only", "yes", "no"):
        for tasks, absent in ((2, 0), (2, 1), (3, 1)):
            before = traces()
            command = [jobs.lapirun, "-n", str(tasks), "sh", "-c", ONE_WITHOUT_INIT, jobs.program("api_init_probe"),
                       str(absent)]
            result = jobs.finish(jobs.start(command, clean_environment(LAPI_USE_SHM=shared)))
            expect_equal(result.status, 1, result)
            waits = re.findall(r"^lapirun: task (\d+) ended \(status 0\) before LAPI_Init, in which task (\d+) waits",
                               result.err, re.M)
            expect_equal([int(pair[0]) for pair in waits], [absent], result)
            expect(waits[0][0] != waits[0][1], result)
            nothing_new(before)


def test_a_task_that_ends_between_two_contexts(jobs):
    """The others know its process, and do not wait for it in the second LAPI_Init."""
    for shared in ("only", "yes"):
        for tasks in (2, 3):
            before = traces()
            command = [jobs.lapirun, "-n", str(tasks), jobs.program("api_init_probe"), "silent", "reopen"]
            result = jobs.finish(jobs.start(command, clean_environment(LAPI_USE_SHM=shared)))
            expect_equal((result.status, result.out.count(f"again {NO_CONNECTIVITY}\n")), (0, tasks - 1), result)
            expect("task 1 (process " in result.err and ") has ended" in result.err, result)
            nothing_new(before)


def test_tasks_may_end_long_after_each_other(jobs):
    for shared in ("only", "no"):
        with tempfile.TemporaryDirectory() as folder:
            command = [jobs.lapirun, "-n", "2", "sh", "-c", ENDS_LATER, jobs.program("api_init_probe"), f"{folder}/end"]
            result = jobs.finish(jobs.start(command, clean_environment(LAPI_USE_SHM=shared)))
            expect_equal((result.status, result.out.count("ended 1"), result.err), (0, 2, ""), result)


# ---- users and limits ----

@functools.cache
def no_ordinary_user(jobs):
    """Why no task can be run as another user; nothing when it can be."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return "only root can become somebody else"
    seen = subprocess.run([*ORDINARY, jobs.program("api_init_probe"), "silent"], capture_output=True, text=True,
                          check=False, env=jobs.task_environment(1, 0, LAPI_USE_SHM="only"))
    if seen.returncode == 0 and "code 0" in seen.stdout:
        return ""
    if "ermission denied" in seen.stderr:
        return "another user may not read the build directory"
    raise AssertionError(f"{seen.stdout}{seen.stderr}")


def ordinary_user_can(jobs):
    reason = no_ordinary_user(jobs)
    if reason:
        raise Skip(reason)


def limited(jobs, limits, shared, code, *words):
    """Both tasks end by themselves with a message, one with this code (None: any), or they succeed. The other one may
    have come when the first was gone. Root's capabilities lift some limits, so that where it can be, the tasks are
    another user's."""
    variables = {"LAPI_USE_SHM": shared}
    if shared != "only":
        words = (*words, f"list={udp_list(2)}")
    user = [] if no_ordinary_user(jobs) else ORDINARY
    wrap = [*user, "prlimit", *limits, "--"]
    codes = set()
    for result in jobs.standalone(2, ["api_init_probe", *words], wrap=wrap, **variables):
        expect_equal(result.status, 0, f"{limits}\n{result}")
        codes.add(result.value("code"))
        if result.value("code") == 0:
            expect_equal(result.value("ended"), 1, result)
            continue
        expect("openlapi: LAPI_Init:" in result.err, result)
    expect(code is None or codes in ({code}, {code, TIMEOUT}), f"codes {codes}, not {code}")


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


def test_no_memory_for_ordinary_users(jobs):
    """Buffers and thread stacks that find no room: the guide's code, and a message that says so."""
    ordinary_user_can(jobs)
    for room in (0, 64, 256, 1024, 4096):
        command = [*ORDINARY, jobs.program("api_init_probe"), "silent", f"list={udp_list(1)}", f"room={room}"]
        result = jobs.finish(jobs.start(command, jobs.task_environment(1, 0, LAPI_USE_SHM="no")))
        expect_equal((result.status, result.value("code")), (0, MEMORY_EXHAUSTED), f"room {room}\n{result}")
        expect("openlapi: LAPI_Init:" in result.err, f"room {room}\n{result}")
    command = [*ORDINARY, jobs.program("api_init_probe"), "silent", f"list={udp_list(1)}", "room=1000000"]
    result = jobs.finish(jobs.start(command, jobs.task_environment(1, 0, LAPI_USE_SHM="no")))
    expect_equal((result.value("code"), result.value("ended")), (0, 1), result)


def in_own_mounts(script):
    """Runs a script whose mounts on /dev/shm nobody else sees."""
    def unshare(*options, before=""):
        return subprocess.run(["unshare", "-m", *options, "sh", "-c", before + script], capture_output=True, text=True,
                              check=False, env=clean_environment(), timeout=60)
    done = unshare()
    if "cannot change root filesystem propagation" in done.stderr:  # the root is none of a mount (chroot)
        done = unshare("--propagation", "unchanged", before="mount --make-private /dev/shm && ")
    return done


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


# ---- ordinary users ----

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


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
