"""Why a mistake that no test finds need not be found: survivors/*.tsv, one file for each folder of the engine.

A line: the source below the folder, the mistake as a regular expression, the reason; a tab between them. The expression
stands for the whole name of the mistake without its line number, so that it outlives changes elsewhere in the source. A
line that begins with # is a comment."""
import collections
import pathlib
import re

Reason = collections.namedtuple("Reason", "where source mistake why")


def load(folder):
    """All reasons; a malformed line is an error that names it."""
    reasons = []
    for file in sorted(pathlib.Path(folder).glob("*.tsv")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            words, where = line.split("\t"), f"{file.name}:{number}"
            if len(words) != 3 or not all(words):
                raise ValueError(f"{where}: {len(words)} words between tabs; wanted: source, mistake, reason")
            try:
                reasons.append(Reason(where, f"{file.stem}/{words[0]}", re.compile(words[1]), words[2]))
            except re.error as error:
                raise ValueError(f"{where}: the mistake is no regular expression: {error}") from error
    return reasons


class Judge:
    """Finds the reason of a survivor, and knows in the end which reasons nothing needed."""

    def __init__(self, reasons):
        self.by_source = collections.defaultdict(list)
        for reason in reasons:
            self.by_source[reason.source].append(reason)
        self.used = collections.Counter()

    def reason(self, source, mistake):
        """`source`: below dataplane or the tree, `mistake`: LINE:KIND:TEXT. None: nobody has given one."""
        what = mistake.split(":", 1)[1]
        for reason in self.by_source[source.removeprefix("dataplane/")]:
            if reason.mistake.fullmatch(what):
                self.used[reason.where] += 1
                return reason.why
        return None

    def unused(self):
        return [reason for reasons in self.by_source.values() for reason in reasons if not self.used[reason.where]]
