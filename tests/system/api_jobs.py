"""What the api_*.py tests share: starting tasks with and without a launcher, and TAP output.

A test file defines functions `test_...(jobs)` and calls run_tests(). `jobs` is a Jobs object; a test fails by raising.
"""
import itertools
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import traceback

# Every variable that could reach a task from the caller's shell.
FOREIGN = ("MP_", "LAPI_", "OPENLAPI_", "PMIX_", "OMPI_", "API_")
LIMIT = 60


class Skip(Exception):
    pass


class Result:
    """What one task, or a whole launched job, did."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def value(self, name):
        for line in self.out.splitlines():
            words = line.split()
            if words and words[0] == name:
                return words[1] if not words[1].lstrip("-").isdigit() else int(words[1])
        return None

    def __str__(self):
        return f"status {self.status}\n{self.out}{self.err}"


def expect(condition, text):
    if not condition:
        raise AssertionError(str(text))


def expect_equal(value, wanted, about):
    expect(value == wanted, f"{value!r} is not {wanted!r}: {about}")


# The kernel gives ports from here on to sockets that name none (32768 by default); below, only who asks gets one.
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as port_range:
    FIRST_GIVEN_PORT = int(port_range.read().split()[0])
_reservations = []


def _reserve(port):
    """Whether the port is free and no other test of this network name space has it: ours until this program ends."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0openlapi-test-port-{port}")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        name.close()
        return False
    _reservations.append(name)
    return True


def free_ports(count):
    """UDP ports that nobody has now, and that no other test nor the kernel gives to anybody while this test runs."""
    candidates = random.sample(range(FIRST_GIVEN_PORT // 2, FIRST_GIVEN_PORT), 100 + 2 * count)
    ports = list(itertools.islice(filter(_reserve, candidates), count))
    expect_equal(len(ports), count, "free UDP ports")
    return ports


def clean_environment(**extra):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment.update({name: value for name, value in extra.items() if value is not None})
    return environment


class Jobs:
    def __init__(self, lapirun, programs):
        self.lapirun, self.programs = lapirun, programs
        self.partition = 0

    def program(self, name):
        return os.path.join(self.programs, name)

    def start(self, command, environment, **more):
        return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **more)

    def finish(self, process, limit=LIMIT):
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{process.args} did not end in {limit} s\n{out}{err}") from None
        return Result(process.returncode, out, err)

    def launch(self, tasks, words, options=(), limit=LIMIT, **variables):
        """A job under lapirun, to its end."""
        command = [self.lapirun, "-n", str(tasks), *options, self.program(words[0]), *words[1:]]
        return self.finish(self.start(command, clean_environment(**variables)), limit)

    def task_environment(self, tasks, task, **variables):
        standard = {"MP_MSG_API": "lapi", "MP_EUILIB": "ip", "MP_PROCS": str(tasks), "MP_CHILD": str(task),
                    "MP_PARTITION": f"{os.getpid()}.{self.partition}", "OPENLAPI_SECRET": "partition"}
        others = [str(other) for other in range(tasks) if other != task]
        standard["MP_COMMON_TASKS"] = ":".join([str(len(others)), *others])
        standard.update(variables)
        # What a task without a launcher says of its network; in user space mode it is another variable.
        if standard.get("LAPI_USE_SHM") != "only" and standard["MP_EUILIB"] == "ip" and "MP_LAPI_NETWORK" not in standard:
            standard.setdefault("MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo")
        return clean_environment(**standard)

    def standalone_processes(self, tasks, words, wrap=(), **variables):
        self.partition += 1
        return [self.start([*wrap, self.program(words[0]), *words[1:]], self.task_environment(tasks, task, **variables))
                for task in range(tasks)]

    def standalone(self, tasks, words, wrap=(), **variables):
        """Tasks without a launcher, to their end."""
        processes = self.standalone_processes(tasks, words, wrap, **variables)
        try:
            return [self.finish(process) for process in processes]
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()

    def alone(self, *words, **variables):
        """One task without a launcher, over its own shared memory unless the variables say otherwise."""
        variables.setdefault("LAPI_USE_SHM", "only")
        return self.standalone(1, ["api_init_probe", "silent", *words], **variables)[0]


def wait_for(condition, text, limit=LIMIT):
    until = time.monotonic() + limit
    while not condition():
        expect(time.monotonic() < until, text)
        time.sleep(0.02)


def is_stopped(process):
    try:
        threads = [stat.read_text(encoding="ascii") for stat in pathlib.Path(f"/proc/{process}/task").glob("*/stat")]
    except FileNotFoundError:  # a thread has just ended
        return False
    return all(thread.rpartition(")")[2].split()[:1] == ["T"] for thread in threads)


def stop(process):
    """SIGSTOP. Until the thread that gets it has been on a processor the others go on."""
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: is_stopped(process.pid), "the task does not stop")


def run_tests(module, lapirun, programs, chosen):
    return run_cases(module, Jobs(lapirun, programs), chosen)


def run_cases(module, jobs, chosen):
    tests = [(name, test) for name, test in vars(module).items()
             if name.startswith("test_") and (not chosen or name in chosen)]
    broken = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for number, (name, test) in enumerate(tests, 1):
        title = getattr(test, "title", name[len("test_"):].replace("_", " "))
        try:
            test(jobs)
            print(f"ok {number} - {title}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {title} # SKIP {reason}", flush=True)
        except Exception as error:  # one broken case must not hide the others
            broken += 1
            lines = str(error).strip().splitlines() or [repr(error)]
            print(f"not ok {number} - {title}: {lines[0]}", flush=True)
            details = lines[1:30] + traceback.format_exc().splitlines()[-6:-1]
            print("\n".join("# " + line for line in details), flush=True)
    print(f"1..{len(tests)}")
    return 1 if broken else 0


def main(module):
    return run_tests(module, sys.argv[1], sys.argv[2], sys.argv[3:])
