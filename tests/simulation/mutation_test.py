#!/usr/bin/env python3
"""Shows that the seeds of CI find deliberate mistakes.

    mutation_test.py SEEDS ORIGINAL MUTANT...
    mutation_test.py --tests MUTANT...

Every MUTANT (simulate built with one mistake of mutants.py) must fail on one of the SEEDS (A..B); ORIGINAL must pass
the seed on which it failed. With --tests a MUTANT is a unit test, one case of which must fail; without the mistake it
is tried by its own suite.
"""
import concurrent.futures
import functools
import pathlib
import re
import resource
import subprocess
import sys

SECONDS_PER_MUTANT = 600  # all seeds, on half of a busy machine
MOST_MEMORY = 2 << 30  # of a program without bounds
# Where many seeds pass before one finds a mistake, this one is tried first. A change of the simulation may make it another
# one: all are tried then.
FIRST_SEED = {
    "acknowledged_over_dead_path": 17, "adapters_without_pair_unheard": 366, "answer_beyond_the_buffer": 21, "bulk_late_read": 18,
    "bulk_reads_of_purged_peer": 116, "fence_asked_too_soon": 10, "function_not_asked": 11, "other_ends_untried": 25,
    "path_up_by_any_packet": 169, "probes_answered_at_home": 25, "purge_keeps_era": 11, "requests_unbounded": 16,
    "silence_unnoticed": 23, "stale_epoch": 23, "stopped_task_given_up": 167, "unknown_probes_unanswered": 68,
}
# The same for the cases of a unit test that takes long.
FIRST_CASE = {
    "bulk_many_paths_reads_no_sign_of_life": "BulkOverManyPaths.GoesOnOverThoseWhosePacketsWaitBehindIt",
    "lying_peer_answers_unbounded": "LyingPeer.AnswersThatNobodyTakesAreBounded",
    "lying_peer_answers_uncounted": "LyingPeer.AnswersThatNobodyTakesAreBounded",
    "lying_peer_descriptions_unbounded": "LyingPeer.ALongDescriptionIsRefused",
    "lying_peer_descriptions_uncounted": "NearlyAllBytes.DescriptionsOfWhatIsAskedFor",
    "lying_peer_early_rounds_forgiven": "LyingPeer.EarlyRoundsAreBounded",
    "lying_peer_early_rounds_unbounded": "LyingPeer.EarlyRoundsAreBounded",
    "lying_peer_fences_unbounded": "LyingPeer.FencesBehindAMessageThatDoesNotEndAreBounded",
    "lying_peer_fences_uncounted": "LyingPeer.FencesBehindAMessageThatDoesNotEndAreBounded",
    "lying_peer_incarnations_unbounded": "LyingPeer.MessagesThatDoNotEndAreBoundedInAllItsIncarnationsTogether",
    "lying_peer_long_answers_unbounded": "LyingPeer.LongAnswersThatNobodyTakesAreBounded",
    "lying_peer_refused_long_unbounded": "LyingPeer.OneMessageOfMoreBytesThanAnyMayHaveIsTooMuch",
    "lying_peer_refused_long_uncounted": "LyingPeer.BytesOfRefusedMessagesAreBounded",
    "lying_peer_refused_unbounded": "LyingPeer.RefusedMessagesAreBounded",
    "lying_peer_refused_uncounted": "NearlyAllBytes.RefusedMessages",
    "lying_peer_rounds_of_any_length": "LyingPeer.RoundsLongerThanAnyAreNone",
    "lying_peer_rounds_uncounted": "NearlyAllBytes.LongRoundsOfCollectives",
    "lying_peer_unfinished_unbounded": "LyingPeer.MessagesThatDoNotEndAreBounded",
}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def run(program, *arguments):
    try:
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=SECONDS_PER_MUTANT, check=False, preexec_fn=limit_memory)
    except subprocess.TimeoutExpired:
        return None, f"still running after {SECONDS_PER_MUTANT} s"
    return done.returncode, done.stdout


@functools.cache
def try_original(original, seed):
    return run(original, "--seed", seed)


def try_mutant(original, mutant, seeds):
    name = pathlib.Path(mutant).name.removeprefix("simulate_")
    status, output = run(mutant, "--seed", str(FIRST_SEED[name])) if name in FIRST_SEED else (0, "")
    if status == 0:
        status, output = run(mutant, "--seeds", seeds)
    if status is None:
        return False, f"{name}: {output}"
    replay = re.search(r"^replay: .*--seed (\d+) .*$", output, re.MULTILINE)
    if status == 0 or replay is None:
        return False, f"{name}: NOT FOUND by seeds {seeds} (status {status})"
    seed = replay.group(1)
    why = re.search(r"^seed \d+ failed (.*)$", output, re.MULTILINE)
    status, output = try_original(original, seed)
    if status != 0:
        return False, f"{name}: the original fails on seed {seed} as well:\n{output}"
    return True, f"{name}: found by seed {seed}: {why.group(1)[:110] if why else 'crashed'}"


def try_unit_test(mutant):
    name = pathlib.Path(mutant).name
    status, output = run(mutant, f"--gtest_filter={FIRST_CASE[name]}") if name in FIRST_CASE else (0, "")
    if status == 0:
        status, output = run(mutant, "--gtest_fail_fast")
    failed = re.search(r"^\[  FAILED  \] (\S+)", output, re.MULTILINE)
    if status == 0 and "[  SKIPPED ]" in output:
        return True, f"{name}: not tried, its test is skipped on this system"
    if status in (None, 0) or failed is None:
        return False, f"{name}: NOT FOUND (status {status})"
    return True, f"{name}: found by {failed.group(1)}"


def main():
    if len(sys.argv) < 3 or (len(sys.argv) < 4 and sys.argv[1] != "--tests"):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--tests":
        mutants, attempt = sys.argv[2:], try_unit_test
    else:
        seeds, original, mutants = sys.argv[1], sys.argv[2], sys.argv[3:]
        attempt = lambda mutant: try_mutant(original, mutant, seeds)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(attempt, mutants))
    for _, text in results:
        print(text)
    missed = sum(1 for found, _ in results if not found)
    print(f"{len(results) - missed} of {len(results)} mistakes found")
    return 1 if missed or len(results) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
