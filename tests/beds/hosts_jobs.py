#!/usr/bin/env python3
"""Jobs of lapi.h programs over several hosts: under Slurm, Open MPI's launcher, and lapirun over a universe. Runs inside
the bed:

    tests/beds/hosts 4 --sshd --slurm -- hosts_jobs.py BUILD PROCESS-SCHEMA GROUP [PROGRAM...]

GROUP: short, polling, interrupt, mpi.

Two tasks on each host: they share memory, without being told to, and UDP carries what goes to other hosts. What carried
it is taken from what the first contacts say; the files that all hosts see must make no task take another host's for a
neighbour. Group mpi: programs with MPI beside LAPI have the same tasks in both, or are refused. Prints TAP.
"""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from hosts_programs import environment, install, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA, GROUP = sys.argv[1:4]
PROGRAMS = os.path.join(BUILD, "tests/system")
HOSTS = os.environ["HOSTS_NAMES"].split()
EACH = 2        # tasks of a host
LIMIT = 150     # seconds for one job
FEWEST = 5      # packets of any task; the programs send many more

# Program, and what keeps it short.
JOBS = {
    "api_attributes": [], "api_bulk": [], "api_contexts": ["4"], "api_cpp": [], "api_crossing": ["40"],
    "api_crossing_sends": ["40"], "api_errors": [],
    "api_fairness": ["20"], "api_gather_scatter": [], "api_handler_calls": [], "api_handlers": [], "api_interrupt": [],
    "api_lock_conditions": [], "api_lock_sharing": [], "api_memory": [], "api_memory_faults": [],
    "api_program_memory_faults": [], "api_program_rules": [], "api_recovery_errors": [], "api_statistics": [],
    "api_storm": ["150", "21", "30000"], "api_sync": [], "api_transfer": ["300000"], "api_vectors": [], "api_xfer": [],
    "api_xfer_layouts": [], "api_xfer_refusals": [],
}
SHORT = [("srun", "polling", "api_sync", []), ("mpirun", "interrupt", "api_sync", []),
         ("srun", "interrupt", "api_handlers", []), ("mpirun", "polling", "api_handlers", []),
         ("srun", "polling", "api_transfer", ["30000"]), ("mpirun", "interrupt", "api_xfer", []),
         ("lapirun", "polling", "api_sync", []), ("lapirun", "interrupt", "api_handlers", []),
         ("trusting", "polling", "api_sync", [])]


def srun(command):
    return ["srun", f"--nodes={len(HOSTS)}", f"--ntasks-per-node={EACH}", "--mpi=pmix", *command]


def mpirun(command):
    hosts = ",".join(f"{name}:{EACH}" for name in HOSTS)
    passed = [word for name in ("API_HOST_TASKS", "MP_INFOLEVEL") for word in ("-x", name)]
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-H", hosts, *passed, *command]


def lapirun(command):
    return ["lapirun", "-N", str(EACH), "-n", str(EACH * len(HOSTS)), *command]


def trusting(command):
    return lapirun(["--trusted-network", *command])


def hydra(command):
    return ["mpiexec.hydra", "-launcher", "ssh", "-hosts", ",".join(HOSTS), "-n", str(EACH * len(HOSTS)), *command]


def srun_with_pmi(command):
    return ["srun", f"--nodes={len(HOSTS)}", f"--ntasks-per-node={EACH}", "--mpi=pmi2", *command]


ENGINES = {"srun": srun, "mpirun": mpirun, "lapirun": lapirun}
WITHOUT_TAGS = {"trusting": trusting}


class Job:
    def __init__(self, start, command):
        variables = environment(API_HOST_TASKS=str(EACH), MP_INFOLEVEL="2")
        begin = time.monotonic()
        try:
            done = subprocess.run(start(command), env=variables, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.status, self.out, self.err = f"not ended after {LIMIT} s", late.stdout or "", late.stderr or ""
        self.seconds = time.monotonic() - begin
        # By task: its host and its packets, as the transport counted them; which way each pair took.
        self.tasks = {int(task): (address, int(sent), int(received)) for task, address, sent, received in re.findall(
            r"task (\d+), udp, ([\d.]+): (\d+) packets sent, (\d+) received", f"{self.err}{self.out}")}
        self.ways = {(int(task), int(other), way) for task, other, way in re.findall(
            r"task (\d+) reaches task (\d+) over (\w+)", f"{self.err}{self.out}")}

        self.tagged = {int(task) for task in re.findall(r"task (\d+): packets carry tags", f"{self.err}{self.out}")}

    def __str__(self):
        told = [line for line in f"{self.err}\n{self.out}".splitlines() if " reaches task " not in line]
        return f"status {self.status}, ways {sorted(self.ways)}\n" + "\n".join(told)

    def problem(self, tagged=True):
        """Empty: it ended well, over shared memory inside hosts and UDP between them, in packets with tags or without."""
        if self.status != 0:
            return f"status {self.status}"
        if sorted(self.tasks) != list(range(EACH * len(HOSTS))):
            return f"not every task tells its packets: {sorted(self.tasks)}"
        if {task[0] for task in self.tasks.values()} != {f"10.213.77.{number + 1}" for number in range(len(HOSTS))}:
            return "the tasks are not on all hosts"
        near, far = EACH - 1, EACH * (len(HOSTS) - 1)
        if f"task 0 talks to {near + far} others: {near} through shared memory, the rest over udp\n" not in self.err:
            return "task 0 does not say what it uses"
        if any((way == "shm") != (self.tasks[task][0] == self.tasks[other][0]) for task, other, way in self.ways):
            return "shared memory is not what it is on each host"
        if {way for _, _, way in self.ways} != {"shm", "udp"}:
            return f"the tasks reach each other over {sorted(self.ways)}"
        if sorted(self.tagged) != (sorted(self.tasks) if tagged else []):
            return f"packets of tasks {sorted(self.tagged)} carry tags"
        least = min(min(task[1:]) for task in self.tasks.values())
        return "" if least >= FEWEST else f"too few packets: {least}"


def run_program(engine, mode, program, words):
    start = {**ENGINES, **WITHOUT_TAGS}[engine]
    job = Job(start, [os.path.join(PROGRAMS, program), mode, *words])
    problem = job.problem(tagged=engine not in WITHOUT_TAGS)
    check(f"{program} {mode} under {engine}, {EACH} tasks on each of {len(HOSTS)} hosts{': ' if problem else ''}{problem}",
          not problem, job)
    print(f"# {job.seconds:.1f} s", flush=True)


def run_mpi():
    """What is linked with Open MPI has the same tasks in both; what is linked with MPICH is refused with the reason."""
    tasks = EACH * len(HOSTS)
    same = [f"lapi {task} of {tasks}, mpi {task} of {tasks}" for task in range(tasks)]
    alone = f"does not join this job: MPI_COMM_WORLD would have 1 task, the job has {tasks}"
    other = "a launcher that offers PMI only, as MPICH's mpiexec: see MPI in lapi(7)"
    for first in ("mpi", "lapi"):
        for name, start in ENGINES.items():
            job = Job(start, [os.path.join(PROGRAMS, "mpi_beside_openmpi"), first])
            said = sorted(line for line in job.out.splitlines() if line.startswith("lapi "))
            check(f"Open MPI beside LAPI under {name}, {first} first", job.status == 0 and said == sorted(same), job)
        refused = [(start, alone) for start in ENGINES.values()]
        for start, text in [*refused, (hydra, other), (srun_with_pmi, other)]:
            job = Job(start, [os.path.join(PROGRAMS, "mpi_beside_mpich"), first])
            check(f"MPICH beside LAPI under {start.__name__}, {first} first, is refused",
                  job.status != 0 and text in job.err + job.out and "lapi 0 of" not in job.out, job)


def universe(words, **variables):
    done = subprocess.run(words, env=environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False)
    check(f"{words[0]} over {len(HOSTS)} hosts", done.returncode == 0, done)


def main():
    install(BUILD)
    universe(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    run_group()
    universe(["lamhalt"])
    return finish()


def run_group():
    if GROUP == "mpi":
        run_mpi()
    elif GROUP == "short":
        for engine, mode, program, words in SHORT:
            run_program(engine, mode, program, words)
    else:
        for program in sys.argv[4:] or JOBS:
            for engine in ENGINES:
                run_program(engine, GROUP, program, JOBS[program])


if __name__ == "__main__":
    sys.exit(main())
