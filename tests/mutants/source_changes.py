"""Small changes to C++ source, each of which a test should notice: found by their look, line by line, outside of
comments and texts. A change that does not compile is no change."""
import dataclasses
import re

NUMBER = re.compile(r"(?<![\w.'])(?:0x[0-9a-fA-F]+|[1-9][0-9]*|0)(?=[uUlL]*(?![\w.']))")
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
           "+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++"}
OPERATOR = re.compile(r" (<=|>=|==|!=|&&|\|\||<|>|\+=|-=|\+|-) |(\+\+|--)")
STATEMENT = re.compile(r"^\s+(?!(?:return|break|continue|case|default|using|static_assert|const|auto|struct|class|else)\b)"
                       r"[\w*(+-].*;\s*$")
RETURNS = {"return true;": "return false;", "return false;": "return true;"}


@dataclasses.dataclass(frozen=True)
class Change:
    line: int  # from 1
    kind: str
    before: str
    after: str

    @property
    def name(self):
        return f"{self.line}:{self.kind}:{self.before.strip()} -> {self.after.strip()}"


def without_comments(text):
    """The text with its comments and texts made of spaces, so that places stay as they are."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", blank, text, flags=re.DOTALL)


def matching_parenthesis(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return -1


def in_line(line, code):
    """(kind, changed line) for each change of one line."""
    def put(begin, end, new):
        return line[:begin] + new + line[end:]

    for found in re.finditer(r"\b(if|while) (?:constexpr )?\(", code):
        opening = found.end() - 1
        closing = matching_parenthesis(code, opening)
        if closing > 0 and ";" not in code[opening:closing]:
            condition = line[opening + 1:closing]
            yield "condition negated", put(opening + 1, closing, f"!({condition})")
    if not code.lstrip().startswith(("#", "template", "using", "inline constexpr", "constexpr", "static_assert")):
        for found in NUMBER.finditer(code):
            yield "constant off by one", put(found.start(), found.end(), str(int(found.group(0), 0) + 1))
        for found in OPERATOR.finditer(code):
            group = 1 if found.group(1) else 2
            yield "operator swapped", put(found.start(group), found.end(group), SWAPPED[found.group(group)])
    for old, new in RETURNS.items():
        if old in code:
            yield "answer turned round", line.replace(old, new, 1)
    if STATEMENT.match(code) and code.count("(") == code.count(")"):
        yield "statement removed", re.sub(r"\S.*", ";", line, count=1)


def changes_of(text):
    """Every change of a source, in the order of its lines."""
    found = []
    for number, (line, code) in enumerate(zip(text.split("\n"), without_comments(text).split("\n")), 1):
        found += [Change(number, kind, line, after) for kind, after in in_line(line, code) if after != line]
    return found


def apply(text, change):
    lines = text.split("\n")
    if lines[change.line - 1] != change.before:
        raise ValueError(f"line {change.line} is not as it was: {change.before}")
    lines[change.line - 1] = change.after
    return "\n".join(lines)
