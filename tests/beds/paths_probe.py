"""Jobs of api_paths_probe that run until their standard input ends (SECONDS 0)."""


def goes_on(process):
    """Whether ten operations more have come to their end, however long they take, before the job gives up."""
    try:
        process.stdin.write("?\n")
        process.stdin.flush()
    except BrokenPipeError:
        return False
    return process.stdout.readline().startswith("slowest ")


def goes_on_while(process, fail):
    """Whether it goes on before and after that, and what it says in all when it has ended."""
    begun = process.stdout.readline()
    before = goes_on(process)
    fail()
    after = before and goes_on(process) and goes_on(process)
    out, err = process.communicate(timeout=200)
    good = begun == "begun 0\n" and before and process.returncode == 0 and "wrong 0" in out.splitlines()
    return good, after, err, f"{process.returncode}\n{begun}{before} {after}\n{out}{err}"
