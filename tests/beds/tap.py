"""TAP for the beds' tests: check() prints one case, finish() the plan."""

results = []


def check(name, good, seen=""):
    results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)
    if not good:
        print("\n".join("# " + line for line in str(seen).splitlines()[-40:]), flush=True)


def finish():
    """The exit status: 0 if there were cases and all were good."""
    print(f"1..{len(results)}")
    return 0 if all(results) and results else 1
