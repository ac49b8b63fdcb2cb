"""Jobs of api_paths_probe and api_bulk_paths_probe that run until their standard input ends (SECONDS 0). A bed waits for what
they say and do, however long that takes on a slow machine."""
import pathlib
import re
import subprocess
import tempfile
import time

LIMIT = 100  # seconds; only what hangs needs them


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


class Job:
    """One that has begun, if `begun` says so. `lines`: what it has printed after that besides answers."""

    def __init__(self, words, environment):
        self.errors = tempfile.NamedTemporaryFile(prefix="openlapi-job-", mode="w", encoding="utf-8")
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        self.begun = self.process.stdout.readline() == "begun 0\n"
        self.lines = []

    def __str__(self):
        return f"status {self.process.returncode}, begun: {self.begun}\n" + "\n".join(self.lines) + "\n" + self.said()

    __repr__ = __str__

    def said(self):
        """On standard error, so far."""
        return pathlib.Path(self.errors.name).read_text(encoding="utf-8")

    def has_said(self, *patterns):
        """In the end, if not yet."""
        wait_until(lambda: self.has_ended() or all(re.search(pattern, self.said()) for pattern in patterns))
        return all(re.search(pattern, self.said()) for pattern in patterns)

    def has_ended(self):
        return self.process.poll() is not None

    def goes_on(self, times=1):
        """Whether so often some operations more (ten, or a put and a get in bulk) have come to their end, however long they
        take, before the job gives up. The first time they may have begun before."""
        return all(self.asked() for _ in range(times))

    def asked(self):
        try:
            self.process.stdin.write("?\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        line = self.process.stdout.readline()
        answers = line.startswith(("slowest ", "transfers "))
        if not answers:
            self.lines.append(line.rstrip())
        return answers

    def told_twice(self):
        """The adapters of which that line has come more than once."""
        failed = re.findall(r"^openlapi: (task \d+ to task \d+: adapter \d+) .* has failed: .*; no adapter serves",
                            self.said(), re.MULTILINE)
        return [adapter for adapter in failed if failed.count(adapter) > 1]

    def number(self, name):
        """That it has printed at its end; None: it has not."""
        return next((int(line.split()[1]) for line in self.lines if line.startswith(name + " ")), None)

    def ends_well(self):
        """It is told to end, and nothing was lost, doubled or wrong."""
        out, _ = self.process.communicate(timeout=5 * LIMIT)
        self.lines += out.splitlines()
        return self.begun and self.process.returncode == 0 and self.number("wrong") == 0

    def fails(self):
        """It ends by itself, and not well."""
        self.process.stdin.flush()
        return self.begun and wait_until(self.has_ended) and self.process.returncode != 0
