#!/usr/bin/env python3
"""Tasks over UDP that are killed, purged by the others, started again on another port and resumed (guide, chapter 19).

    api_recovery.py LAPIRUN PROGRAM_DIRECTORY [test...]

The tasks are api_recovery_probe on the loopback, without a launcher. Packets of a former life are captured and sent
again by raw sockets.
"""
import queue
import signal
import socket
import struct
import sys
import threading
import time

from api_jobs import Skip, expect, expect_equal, free_ports, main, stop, wait_for

SUCCESS, TGT_PURGED, NO_CONNECTIVITY = 0, 421, 434
INITIAL, RECVD, PURGED, PURGED_RCVD, INVALID = range(5)
PPOLL = ("271", "73")  # the system call that sleepers are in, on x86-64 and on others
LIMIT = 40
# The order of `every` of the probe.
NAMES = ["LAPI_Put", "LAPI_Get", "LAPI_Amsend", "LAPI_Rmw", "LAPI_Rmw64", "LAPI_Putv", "LAPI_Getv", "LAPI_Amsendv",
         "LAPI_PUT_XFER", "LAPI_GET_XFER", "LAPI_AM_XFER", "LAPI_AM_LW_XFER", "LAPI_RMW_XFER", "LAPI_PUTV_XFER",
         "LAPI_GETV_XFER", "LAPI_AMV_XFER", "LAPI_DGSP_XFER", "LAPI_Address_init", "LAPI_Address_init64",
         "LAPI_Gfence"]


class Task:
    """A running api_recovery_probe."""

    def __init__(self, jobs, mode, number, ports, **variables):
        self.number = number
        listed = ",".join(f"127.0.0.1:{port}" for port in ports)
        variables = {"LAPI_USE_SHM": "no", "API_UDP_LIST": listed, **variables}
        if variables["LAPI_USE_SHM"] == "only":
            del variables["API_UDP_LIST"]
        self.process = jobs.start([jobs.program("api_recovery_probe"), mode],
                                  jobs.task_environment(len(ports), number, **variables))
        self.lines, self.unheard = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def hear(self, word):
        """The numbers behind `word` in the next line that begins so; others stay for later: threads say some."""
        for line in self.unheard:
            if line[0] == word:
                self.unheard.remove(line)
                return [int(text) for text in line[1:]]
        until = time.monotonic() + LIMIT
        while True:
            try:
                line = self.lines.get(timeout=max(until - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"task {self.number} did not say '{word}'") from None
            if not line:
                raise AssertionError(f"task {self.number} ended before '{word}': {self.process.stderr.read()}")
            words = line.split()
            if words[0] == word:
                return [int(text) for text in words[1:]]
            self.unheard.append(words)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def does(self, command):
        self.tell(command)
        return self.hear(command.split()[0])

    def succeeds(self, command):
        result = self.does(command)
        expect_equal(result[0], SUCCESS, f"task {self.number}: {command}")
        return result

    def begins_to_wait(self, command):
        """A thread of the task is in LAPI_Nopoll_wait (idle), LAPI_Fence (fencing) or LAPI_Gfence (gfencing), of which
        it has said that it would call it next: it sleeps, or has been busy for long; while others talk a thread that
        polls hardly sleeps."""
        thread = f"/proc/{self.process.pid}/task/{self.does(command)[0]}"

        def busy():
            with open(f"{thread}/stat", encoding="ascii") as file:
                return sum(int(ticks) for ticks in file.read().rpartition(")")[2].split()[11:13])

        before = busy()

        def waits():
            with open(f"{thread}/syscall", encoding="ascii") as file:
                return file.read().split()[0] in PPOLL or busy() >= before + 2
        wait_for(waits, f"task {self.number} does not wait")

    def is_refused_everything(self, other, code):
        codes = dict(zip(NAMES, self.does(f"every {other}"), strict=True))
        expect_equal(codes, dict.fromkeys(NAMES, code), f"calls of task {self.number} that need task {other}")

    def end(self):
        """Ends in order; what it wrote to stderr."""
        self.tell("term")
        expect_equal(self.hear("term"), [SUCCESS], f"task {self.number}")
        self.process.stdin.close()
        expect_equal(self.process.wait(LIMIT), 0, f"task {self.number}")
        return self.process.stderr.read()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Wire:
    """Captures the datagrams that some tasks send to these ports of the loopback, and all that go to `heard` ports, and
    sends them again as they were."""

    SOURCE_AT = 8 + 8 + 16  # the number of the sending task: behind the headers of UDP and of the frame, in the packet

    def __init__(self, ports, tasks, heard=()):
        self.ports, self.tasks, self.heard, self.packets, self.running = ports, tasks, heard, [], True
        try:
            self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
            self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        except PermissionError:
            raise Skip("no right to open raw sockets") from None
        self.tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.tap.bind(("lo", 0))
        self.tap.settimeout(0.1)
        self.thread = threading.Thread(target=self.capture)
        self.thread.start()

    def capture(self):
        while self.running:
            try:
                packet, address = self.tap.recvfrom(65535)
            except socket.timeout:
                continue
            begin = (packet[0] & 15) * 4
            # Each packet is seen leaving and arriving; the checksum of one that leaves is not filled in.
            if address[2] == socket.PACKET_OUTGOING or packet[9] != socket.IPPROTO_UDP:
                continue
            if len(packet) < begin + self.SOURCE_AT + 4:
                continue
            target = struct.unpack_from("!H", packet, begin + 2)[0]
            wanted = struct.unpack_from("<I", packet, begin + self.SOURCE_AT)[0] in self.tasks
            if target in self.heard or target in self.ports and wanted:
                self.packets.append(packet[:begin + 6] + b"\0\0" + packet[begin + 8:])

    def replay(self, ports):
        """Sends what went to these ports once more. Returns how many packets that were."""
        count = 0
        for packet in list(self.packets):
            target = struct.unpack_from("!H", packet, (packet[0] & 15) * 4 + 2)[0]
            if target in ports:
                self.raw.sendto(packet, ("127.0.0.1", 0))
                count += 1
        return count

    def close(self):
        self.running = False
        self.thread.join()
        self.tap.close()
        self.raw.close()


class Job:
    def __init__(self, jobs, mode, tasks=3, **variables):
        jobs.partition += 1
        self.jobs, self.mode, self.variables = jobs, mode, variables
        self.ports = free_ports(tasks)
        self.wire = None
        self.tasks = [Task(jobs, mode, number, self.ports, **variables) for number in range(tasks)]

    def __enter__(self):
        try:
            for task in self.tasks:
                task.hear("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __getitem__(self, number):
        return self.tasks[number]

    def restart(self, number, same_port=False):
        """The task anew, on another port unless told otherwise. Returns the port."""
        if not same_port:
            self.ports[number] = free_ports(1)[0]
        self.tasks[number] = Task(self.jobs, self.mode, number, self.ports, **self.variables)
        self.tasks[number].hear("ready")
        return self.ports[number]

    def __exit__(self, *_):
        if self.wire is not None:
            self.wire.close()
        for task in self.tasks:
            task.process.kill()
            task.process.wait()


def all_greet(tasks, count):
    """Everybody sends to everybody else and waits until it is complete."""
    for task in tasks:
        for other in tasks:
            if other is not task:
                task.succeeds(f"send {other.number} {count}")
        task.tell(f"wait {count * (len(tasks) - 1)}")
    for task in tasks:
        expect_equal(task.hear("wait"), [SUCCESS], f"task {task.number}")


def purge_and_replace(job, victim, round_number, same_port=False):
    others = [task for task in job.tasks if task.number != victim]
    heard = [task.does(f"heard {victim}") for task in others]
    job.tasks[victim].kill()
    for task in others:
        task.succeeds(f"send {victim} 3")  # on its way to nobody
        task.tell(f"ask {victim}")
        task.hear("asked")
        task.begins_to_wait("idle")
        task.begins_to_wait("fencing")
        task.succeeds(f"purge {victim}")
        expect_equal(task.hear("answers"), [TGT_PURGED, 0, PURGED], "a wait for a purged task")
        expect_equal(task.hear("idled"), [TGT_PURGED], "a wait without a list")
        expect_equal(task.hear("fenced"), [TGT_PURGED], "a fence behind messages to a purged task")
        expect_equal(task.does("wait 1"), [TGT_PURGED], "a wait for what was sent")
        expect_equal(task.does(f"send {victim} 1"), [TGT_PURGED], "a message to a purged task")
        task.is_refused_everything(victim, TGT_PURGED)
        task.succeeds("fence")
        task.succeeds("set")
    ports = {job.ports[task.number] for task in others}
    expect(job.wire.replay(ports) >= 2, "nothing was captured")
    port = job.restart(victim, same_port)
    if same_port:  # what went to the former life, too, reaches the new one
        ports.add(port)
        expect(job.wire.replay({port}) >= 2, "nothing that went to the victim was captured")
    for task in others:
        task.tell(f"ask {victim}")
        task.hear("asked")
        expect_equal(task.hear("answers"), [TGT_PURGED, 0, INVALID], "a wait for a task that is purged already")
        if not same_port:
            task.succeeds(f"port {victim} {port}")
        task.succeeds(f"resume {victim}")
    job.wire.replay(ports)
    all_greet(job.tasks, 20)
    job.wire.replay(ports)
    all_greet(job.tasks, 20)
    for task, before in zip(others, heard):
        after = task.does(f"heard {victim}")
        expect_equal(after[0] - before[0], 40, f"messages of the new life, round {round_number}: {before} {after}")
        task.tell(f"ask {victim}")
        task.hear("asked")
        expect_equal(task.hear("answers"), [SUCCESS, 0, RECVD], "an answer of the new life")


def replaced(jobs, mode, tasks, victims, same_port=False):
    with Job(jobs, mode, tasks) as job:
        job.wire = Wire(job.ports, set(victims), {job.ports[victim] for victim in victims} if same_port else ())
        all_greet(job.tasks, 20)
        talkers = [task for task in job.tasks if task.number not in victims]
        for task, other in ((talkers[0], talkers[1]), (talkers[1], talkers[0])):
            task.succeeds(f"talk {other.number}")
        wait_for(lambda: len(job.wire.packets) >= 2, "nothing was captured")
        for round_number, victim in enumerate(victims):
            purge_and_replace(job, victim, round_number, same_port)
        # One stops to send while the other still listens.
        said, errors, _, _ = talkers[0].does("quiet")
        said_back, errors_back, heard_back, disorder_back = talkers[1].does("quiet")
        heard = talkers[0].does("quiet")
        expect_equal((errors, errors_back), (0, 0), "the others were disturbed")
        expect_equal((heard_back, disorder_back), (said, 0), "what the others said")
        expect_equal((heard[2], heard[3]), (said_back, 0), "what the others said back")
        expect(said > 10, said)
        for task in job.tasks:
            expect("fault" not in task.end(), "the error handler was called for what the user had purged")


def test_a_killed_task_is_purged_started_again_and_resumed(jobs):
    replaced(jobs, "interrupt", 3, [1])


def test_the_same_in_polling_mode(jobs):
    replaced(jobs, "polling", 3, [1])


def test_two_of_four_are_replaced_one_of_them_twice(jobs):
    replaced(jobs, "interrupt", 4, [1, 2, 1])


def test_a_task_comes_back_at_its_old_address(jobs):
    """Nothing in the list changes: neither who is started again nor the others are told of an address."""
    for mode in ("interrupt", "polling"):
        replaced(jobs, mode, 3, [1, 1], same_port=True)


def test_living_tasks_begin_anew_with_each_other(jobs):
    with Job(jobs, "interrupt") as job:
        all_greet(job.tasks, 10)
        for one, other in ((0, 1), (1, 0)):
            job[one].succeeds(f"purge {other}")
        for one, other in ((0, 1), (1, 0)):
            job[one].succeeds(f"resume {other}")
        all_greet(job.tasks, 10)
        for one, other in ((0, 1), (1, 0), (2, 0), (2, 1)):
            expect_equal(job[one].does(f"heard {other}")[0], 20, f"task {one} of {other}")
        for task in job.tasks:
            expect("fault" not in task.end(), "nobody was lost")


def test_a_global_fence_behind_messages_to_a_purged_task(jobs):
    """Its task takes part in the barrier all the same: nobody else waits for ever, and the next ones still match."""
    with Job(jobs, "interrupt") as job:
        all_greet(job.tasks, 5)
        for task in job.tasks:
            task.succeeds("patience 600")  # who is silent is not lost
        job[1].succeeds("fence")  # nothing of its own holds it
        stop(job[2].process)
        job[0].succeeds("send 2 3")
        for task in (job[1], job[0]):
            task.begins_to_wait("gfencing")
        job[0].succeeds("purge 2")
        expect_equal(job[0].hear("gfenced"), [TGT_PURGED], "the task that has purged another")
        expect_equal(job[1].hear("gfenced"), [NO_CONNECTIVITY], "a task that has purged nobody")
        job[1].begins_to_wait("gfencing")
        expect_equal(job[0].does("gfence"), [TGT_PURGED], "once more")
        expect_equal(job[1].hear("gfenced"), [NO_CONNECTIVITY], "once more, a task that has purged nobody")


def test_nothing_older_arrives_through_shared_memory(jobs):
    """Requests, puts, messages, a large put and a large get that the other task has not taken when the two purge each
    other are of the past, however they lie in its queue; what follows is complete."""
    for shared in ("yes", "only"):
        with Job(jobs, "polling", 2, LAPI_USE_SHM=shared) as job:
            all_greet(job.tasks, 5)
            for one, other in ((0, 1), (1, 0)):
                places = " ".join(str(place) for place in job[other].does("where"))
                before = job[other].does("landed")
                job[other].succeeds("still")
                job[one].succeeds(f"burst {other} {places}")
                job[one].succeeds(f"purge {other}")
                job[other].succeeds(f"purge {one}")
                job[one].succeeds(f"resume {other}")
                job[one].succeeds(f"burst {other} {places}")  # waits for the other to resume
                job[other].succeeds(f"resume {one}")
                job[other].succeeds("lively")
                job[one].succeeds("fence")
                wait_for(lambda: job[other].does("landed")[2] != before[2], "the message did not arrive")
                all_greet(job.tasks, 5)
                after = job[other].does("landed")
                expect_equal([new - old for new, old in zip(after, before)], [5, 21, 1 + 5], f"{shared}, {one}")
            for task in job.tasks:
                expect("fault" not in task.end(), "nobody was lost")


def test_large_transfers_under_way_are_given_up_in_shared_memory(jobs):
    """The other task is stopped in the middle of whatever it does; afterwards no fence waits for what is gone."""
    with Job(jobs, "interrupt", 2, LAPI_USE_SHM="yes") as job:
        all_greet(job.tasks, 5)
        places = " ".join(str(place) for place in job[1].does("where"))
        for _ in range(5):
            job[0].succeeds(f"burst 1 {places}")
            stop(job[1].process)
            job[0].succeeds(f"burst 1 {places}")
            job[0].succeeds("purge 1")
            job[1].process.send_signal(signal.SIGCONT)
            job[1].succeeds("purge 0")
            before = job[1].does("landed")
            job[1].succeeds("resume 0")
            job[0].succeeds("resume 1")
            job[0].succeeds(f"burst 1 {places}")
            job[0].succeeds("fence")
            job[1].succeeds("fence")
            wait_for(lambda: job[1].does("landed")[2] != before[2], "the message did not arrive")
            after = job[1].does("landed")
            expect_equal([new - old for new, old in zip(after, before)], [5, 21, 1], "of the new era")
        for task in job.tasks:
            expect("fault" not in task.end(), "nobody was lost")


def test_a_task_that_shares_memory_is_replaced(jobs):
    """The new one is reached over UDP, at another port or at the old one; the others go on through shared memory."""
    for mode in ("interrupt", "polling"):
        for same_port in (False, True):
            with Job(jobs, mode, 3, LAPI_USE_SHM="yes") as job:
                all_greet(job.tasks, 10)
                for victim in (1, 0):
                    others = [task for task in job.tasks if task.number != victim]
                    before = [task.does(f"heard {victim}")[0] for task in others]
                    job[victim].kill()
                    for task in others:
                        task.succeeds(f"purge {victim}")
                    begun = time.monotonic()
                    port = job.restart(victim, same_port)
                    expect(time.monotonic() - begun < 9, "the new task has waited for the others' shared memory")
                    for task in others:
                        if not same_port:
                            task.succeeds(f"port {victim} {port}")
                        task.succeeds(f"resume {victim}")
                    all_greet(job.tasks, 10)
                    for task, heard in zip(others, before):
                        expect_equal(task.does(f"heard {victim}")[0] - heard, 10, f"task {task.number} of {victim}")
                for task in job.tasks:
                    expect("fault" not in task.end(), "the error handler was called for what the user had purged")


def test_a_task_that_shares_memory_and_stops_is_lost_after_the_time_out(jobs):
    """It owes an answer, took the question, and then stands still: nothing is left to be taken."""
    with Job(jobs, "interrupt", 2, LAPI_USE_SHM="yes") as job:
        all_greet(job.tasks, 5)
        job[1].does("mute")
        job[0].tell("ask 1")
        job[0].hear("asked")
        job[0].succeeds("fence")
        stop(job[1].process)
        expect_equal(job[0].hear("answers"), [NO_CONNECTIVITY, 0, INITIAL], "a wait for a stopped task")
        job[1].process.send_signal(signal.SIGCONT)
        expect("fault 413 1" in job[0].end(), "the error handler was not called with LAPI_ERR_TIMEOUT")


def test_a_task_that_shares_memory_and_goes_on_hears_that_it_was_given_up(jobs):
    """It was stopped in the middle of messages, some of which had not left as a whole. Nothing hangs, nothing of all
    that is carried out afterwards, and what follows is complete."""
    for mode, victim, copied in (("polling", 1, 65536), ("polling", 0, 16384), ("interrupt", 0, 65536)):
        with Job(jobs, mode, 2, LAPI_USE_SHM="yes", MP_REXMIT_BUF_SIZE=str(copied)) as job:
            all_greet(job.tasks, 5)
            survivor = 1 - victim
            to_victim, to_survivor = (f"{task} " + " ".join(str(place) for place in job[task].does("where"))
                                      for task in (victim, survivor))
            job[survivor].succeeds("still")  # takes nothing, if it polls
            job[victim].succeeds(f"flood {to_survivor}")
            job[victim].succeeds(f"burst {to_survivor}")
            stop(job[victim].process)
            job[survivor].succeeds("lively")
            job[survivor].succeeds(f"burst {to_victim}")
            expect_equal(job[survivor].does("fence"), [NO_CONNECTIVITY], f"{mode}, the task that goes on meanwhile")
            before = job[survivor].does("landed")
            job[victim].process.send_signal(signal.SIGCONT)
            expect(job[victim].does("fence")[0] in (SUCCESS, NO_CONNECTIVITY), f"{mode}, the stopped task's fence")
            expect_equal(job[survivor].does("landed"), before, f"{mode}, what the stopped task had begun")
            job[victim].succeeds(f"flood {to_survivor}")
            job[victim].succeeds("fence")
            for one, other, places in ((survivor, victim, to_victim), (victim, survivor, to_survivor)):
                before = job[other].does("landed")
                job[one].succeeds(f"burst {places}")
                job[one].succeeds("fence")
                wait_for(lambda: job[other].does("landed")[2] != before[2], "the message did not arrive")
                after = job[other].does("landed")
                expect_equal([new - old for new, old in zip(after, before)], [5, 21, 1], f"{mode}, {one}")
            faults = [task.end() for task in job.tasks]
            expect(f"fault 413 {victim}" in faults[survivor], f"{mode}: the task that went on meanwhile was not told")
            expect(f"fault 434 {survivor}" in faults[victim], f"{mode}: the stopped task was not told")


def test_a_wait_goes_on_while_somebody_may_answer(jobs):
    with Job(jobs, "interrupt") as job:
        all_greet(job.tasks, 5)
        job[1].does("mute")
        job[0].tell("ask 1 2")
        job[0].hear("asked")
        expect_equal(job[0].does("heard 2")[0], 5, "")
        job[0].succeeds("purge 1")
        expect_equal(job[0].hear("answers"), [TGT_PURGED, 1, PURGED, RECVD], "2 has answered, 1 never will")


def test_a_task_without_an_address_cannot_be_reached(jobs):
    """Nobody has said yet where task 1 is: each call says so, and when it is known they work."""
    for mode in ("interrupt", "polling"):
        ports = free_ports(2)
        jobs.partition += 1
        tasks = [Task(jobs, mode, 0, ports, API_UDP_LIST=f"127.0.0.1:{ports[0]},0.0.0.0:{ports[1]}")]
        try:
            tasks[0].hear("ready")
            for _ in range(2):
                tasks[0].is_refused_everything(1, NO_CONNECTIVITY)
            tasks[0].succeeds("fence")
            tasks.append(Task(jobs, mode, 1, ports))
            tasks[1].hear("ready")
            tasks[0].succeeds(f"port 1 {ports[1]}")
            all_greet(tasks, 5)
            for task in tasks:
                task.end()
        finally:
            for task in tasks:
                task.process.kill()
                task.process.wait()


def test_arguments_without_a_launcher(jobs):
    ports = ",".join(f"127.0.0.1:{port}" for port in free_ports(2))
    for result in jobs.standalone(2, ["api_recovery_errors"], LAPI_USE_SHM="no", API_UDP_LIST=ports):
        expect_equal(result.status, 0, result)


def test_waits_for_a_lost_task_end(jobs):
    """The error handler returns, and nobody waits for ever: neither who waits already nor who begins later."""
    for mode in ("interrupt", "polling"):
        for shared in ("only", "no"):
            with Job(jobs, mode, 2, LAPI_USE_SHM=shared) as job:
                all_greet(job.tasks, 5)
                job[1].does("mute")
                job[0].tell("ask 1")
                job[0].hear("asked")
                job[0].succeeds("fence")
                job[1].kill()
                # The question was taken, so only the list says that something is awaited from the task.
                expect_equal(job[0].hear("answers"), [NO_CONNECTIVITY, 0, INITIAL], f"{mode} {shared}")
                job[0].succeeds("send 1 2")
                expect_equal(job[0].does("wait 2"), [NO_CONNECTIVITY], f"{mode} {shared}")
                job[0].succeeds("send 1 1")
                expect_equal(job[0].does("fence")[0], NO_CONNECTIVITY, f"{mode} {shared}")
                expect_equal(job[0].does("wait 1"), [NO_CONNECTIVITY], f"begun after the loss, {mode} {shared}")
                expect("fault" in job[0].end(), "the error handler was not called")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
