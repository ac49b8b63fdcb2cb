#!/usr/bin/env python3
"""The secret of tasks without a launcher: made by the first of them, refused when it is none, and who needs none.

    api_secret.py LAPIRUN PROGRAM_DIRECTORY [test...]
"""
import os
import select
import stat
import sys
import tempfile

from api_jobs import LIMIT, Skip, clean_environment, expect, expect_equal, free_ports, main, wait_for

SUCCESS, SET_VAL, NO_ENV_VAR = 0, 464, 510
ORDINARY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
DIGITS = "00112233445566778899aabbccddeeff\n"


def needs_root():
    if os.geteuid() != 0:
        raise Skip("needs root to become another user")


def over_udp(jobs, tasks, wrap=(), **variables):
    addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports(tasks))
    variables = {"LAPI_USE_SHM": "no", "OPENLAPI_SECRET": None, **variables}
    return jobs.standalone(tasks, ["api_init_probe", f"list={addresses}"], wrap=wrap, **variables)


def all_talked(results):
    for result in results:
        expect_equal((result.status, result.value("code"), result.value("ended")), (0, SUCCESS, 1), result)


def refused(jobs, *texts, **variables):
    """LAPI_Init says once what is missing and how to give it."""
    result = over_udp(jobs, 1, **variables)[0]
    expect_equal(result.value("code"), NO_ENV_VAR, result)
    for text in (*texts, "OPENLAPI_SECRET_FILE", "OPENLAPI_SECRET=partition", "umask 077; openssl rand -hex 16"):
        expect_equal(result.err.count(text) > 0, True, f"'{text}' is missing\n{result}")
    expect_equal(result.err.count("the secret that tasks without a launcher share"), 1, result)


def write(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def test_the_first_task_makes_it(jobs):
    with tempfile.TemporaryDirectory() as home:
        all_talked(over_udp(jobs, 4, HOME=home))
        path = os.path.join(home, ".openlapi", "secret")
        expect_equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)
        expect_equal(os.listdir(os.path.dirname(path)), ["secret"], "nothing is left beside it")
        with open(path, encoding="utf-8") as file:
            made = file.read()
        all_talked(over_udp(jobs, 2, HOME=home))
        with open(path, encoding="utf-8") as file:
            expect_equal(file.read(), made, "the second job took the first one's")


def test_an_ordinary_user_has_one_of_its_own(jobs):
    needs_root()
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, 65534, 65534)
        all_talked(over_udp(jobs, 2, wrap=ORDINARY, HOME=home))
        expect_equal(os.stat(os.path.join(home, ".openlapi", "secret")).st_uid, 65534, home)
        refused(jobs, "belongs to user 65534, not to user 0", HOME=home)


def test_a_file_is_named(jobs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "of the job")
        refused(jobs, f"OPENLAPI_SECRET_FILE={path}: No such file", OPENLAPI_SECRET_FILE=path)
        write(path, DIGITS)
        all_talked(over_udp(jobs, 2, OPENLAPI_SECRET_FILE=path, HOME=""))
        write(path, DIGITS, 0o644)
        refused(jobs, "has mode 0644 and must have 0600 or 0400", OPENLAPI_SECRET_FILE=path)
        write(path, "")
        refused(jobs, "has not 32 hexadecimal digits", OPENLAPI_SECRET_FILE=path)
        os.symlink(path, os.path.join(folder, "link"))
        refused(jobs, "is a symbolic link", OPENLAPI_SECRET_FILE=os.path.join(folder, "link"))


def test_without_a_home_a_variable_has_to_allow_it(jobs):
    refused(jobs, "HOME is not set", HOME="")
    refused(jobs, "HOME is not set", wrap=["env", "-u", "HOME"])
    refused(jobs, "HOME=/not/there: No such file", HOME="/not/there")
    refused(jobs, "HOME is not set", HOME="", LAPI_USE_SHM="yes")
    all_talked(over_udp(jobs, 2, HOME="", OPENLAPI_SECRET="partition"))
    all_talked(over_udp(jobs, 2, HOME="", OPENLAPI_SECRET="PARTITION", LAPI_USE_SHM="yes"))
    result = over_udp(jobs, 1, OPENLAPI_SECRET="none")[0]
    expect_equal(result.value("code"), SET_VAL, result)
    expect("OPENLAPI_SECRET=none: allowed is one of file partition" in result.err, result)


def test_who_sends_no_packets_needs_none(jobs):
    with tempfile.TemporaryDirectory() as home:
        all_talked(jobs.standalone(2, ["api_init_probe"], LAPI_USE_SHM="only", HOME=home, OPENLAPI_SECRET=None))
        all_talked(jobs.standalone(2, ["api_init_probe"], LAPI_USE_SHM="only", HOME="", OPENLAPI_SECRET=None))
        expect_equal(os.listdir(home), [], "nothing was made")


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat_line:
        fields = stat_line.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_stranger_cannot_be_a_task(jobs):
    """It says what everybody may know: the partition, the ports and the number of a task that has not begun yet."""
    needs_root()
    addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    words = [jobs.program("api_init_probe"), f"list={addresses}"]
    with tempfile.TemporaryDirectory() as home:
        def begin(task, wrap=(), **variables):
            return jobs.start([*wrap, *words], jobs.task_environment(2, task, LAPI_USE_SHM="no", **variables))
        started = [begin(0, HOME=home, OPENLAPI_SECRET=None)]
        try:
            stranger = begin(1, wrap=ORDINARY)
            started.append(stranger)
            # By then it polls for answers to what it has sent.
            wait_for(lambda: processor_seconds(stranger) > 0.05, "the stranger does nothing")
            expect_equal([process.poll() for process in started], [None, None], "nobody talks with a stranger")
            stranger.kill()
            stranger.communicate()
            started.append(begin(1, HOME=home, OPENLAPI_SECRET=None))
            all_talked([jobs.finish(started[0]), jobs.finish(started[2])])
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                    process.communicate()


def test_tasks_with_two_homes_are_told(jobs):
    """As on nodes whose homes are not common: each makes a secret of its own. (That they refuse after TIMEOUT:
    unit/endpoint/other_secret_test.)"""
    addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    words = [jobs.program("api_init_probe"), f"list={addresses}"]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        started = [jobs.start(words, jobs.task_environment(2, task, LAPI_USE_SHM="no", OPENLAPI_SECRET=None, HOME=home))
                   for task, home in enumerate((one, other))]
        try:
            for task, process in enumerate(started):
                readable, _, _ = select.select([process.stderr], [], [], LIMIT)
                line = process.stderr.readline() if readable else "nothing was said"
                expect(f"task {task}: what comes from the address of task {1 - task} was made with another secret"
                       in line and "OPENLAPI_SECRET_FILE" in line and "OPENLAPI_SECRET=partition" in line, line)
        finally:
            for process in started:
                process.kill()
                process.communicate()


def test_lapirun_makes_the_partition_a_secret(jobs):
    for variables, secret in (({}, "partition,"), ({"OPENLAPI_SECRET": "file"}, "file,"),
                              ({"OPENLAPI_SECRET_FILE": "/there"}, ",/there")):
        command = [jobs.lapirun, "--standalone", "-n", "1", "sh", "-c", "echo $OPENLAPI_SECRET,$OPENLAPI_SECRET_FILE"]
        result = jobs.finish(jobs.start(command, clean_environment(HOME="", **variables)))
        expect_equal((result.status, result.out.strip()), (0, secret), result)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
