"""Mistakes that are chosen at run time: one text of a source has all of them, each behind a number (mutant_switch.h).

The source is cut into tokens, as clang-format has laid it out: an operator with two operands stands between spaces, the
brackets of a template do not. What is wrapped needs the ends of operands and statements, nothing of types: what does
not compile is left out by mutant_tree.py."""
import bisect
import dataclasses
import re

from source_changes import NUMBER, RETURNS, SWAPPED, without_comments

TOKEN = re.compile(r"[\w.']*\d[\w.']*(?<=\w)|\w+|::|->|<=>|\+\+|--|&&|\|\||[<>]{2}=|[-+*/%&|^=!<>]=|<<|>>|\S")
PRECEDENCE = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<=": 7, ">=": 7, "<": 7, ">": 7, "<=>": 8,
              "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11}
ENDS_OPERAND = {",", ";", "?", ":", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "return", "case",
                "else", "do", "throw"}
FUNCTIONS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal",
             "+": "plus", "-": "minus", "+=": "add_to", "-=": "take_from"}
LEFT_ALONE = re.compile(r"\b(?:static_assert|OPENLAPI_CHECK|assert|alignas|alignof|sizeof|decltype|noexcept)\(")
NO_STATEMENT = {"return", "break", "continue", "case", "default", "using", "const", "constexpr", "static", "auto",
                "struct", "class", "else", "goto", "enum", "typedef", "template", "if", "for", "while", "do", "switch",
                "try", "catch", "private", "public", "protected", "friend", "explicit", "inline", "virtual",
                "thread_local", "asm"}
DECLARATION = re.compile(r"[\w:]+(?:<[^;=]*>)?(?:\s*[*&]+\s*|\s+)(?:\w+|\[|\(\*)")
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`before` and `after` stand at the ends of [begin, end) when it is switched in; `inside` replaces places in it."""
    begin: int
    end: int
    line: int
    kind: str
    shown: str
    before: str
    after: str
    inside: tuple = ()

    @property
    def name(self):
        return f"{self.line}:{self.kind}:{self.shown}"


@dataclasses.dataclass
class Token:
    text: str
    begin: int
    end: int
    mate: int = -1      # the other bracket
    within: str = ""    # what the innermost brace is: "", class, enum, code, list
    binary: bool = False
    statement: int = -1  # the token that its statement begins with


def blanked(text):
    """Without comments, texts, directives and what is checked for our own mistakes."""
    code = without_comments(text)
    spaces = lambda found: re.sub(r"[^\n]", " ", found.group(0))
    code = re.sub(r"^[ ]*#(?:[^\n]*\\\n)*[^\n]*", spaces, code, flags=re.MULTILINE)
    for found in list(LEFT_ALONE.finditer(code)):
        depth, at = 1, found.end()
        while depth and at < len(code):
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            at += 1
        code = code[:found.end()] + re.sub(r"[^\n]", " ", code[found.end():at - 1]) + code[at - 1:]
    return code


class Source:
    def __init__(self, text):
        self.text, self.code = text, blanked(text)
        self.lines = [0] + [found.end() for found in re.finditer("\n", text)]
        self.tokens = [Token(found.group(0), found.start(), found.end()) for found in TOKEN.finditer(self.code)]
        self.match_templates()
        self.match_brackets()

    def is_spaced(self, token):
        return self.code[token.begin - 1].isspace() and self.code[token.end].isspace()

    def match_templates(self):
        """What stands between spaces has two operands; else < and > are brackets."""
        open_ones = []
        for at, token in enumerate(self.tokens):
            if token.text in PRECEDENCE and self.is_spaced(token):
                token.binary = True
            elif token.text == "<":
                open_ones.append(at)
            elif token.text in (">", ">>"):
                for _ in token.text:
                    if open_ones:
                        token.mate = open_ones.pop()
                        self.tokens[token.mate].mate = at
            elif token.text in ";{}":
                open_ones = []

    def match_brackets(self):
        stack, start, within = [], 0, ""
        for at, token in enumerate(self.tokens):
            token.within, token.statement = within, start
            if token.text in OPENING:
                what = self.brace(at, start, within) if token.text == "{" else within
                stack.append((at, start, within, what))
                within = what.split()[0] if what else ""
                if token.text == "{" and within != "list":
                    start = at + 1
            elif token.text in CLOSING and stack:
                opening, outer_start, within, what = stack.pop()
                token.mate, self.tokens[opening].mate = opening, at
                token.within = within
                start = outer_start
                if token.text == "]" and opening == start and self.tokens[start + 1].text == "[":
                    start = at + 1  # [[unlikely]]
                if token.text == "}" and what not in ("list", "code inner"):
                    start = at + 1
                if token.text == ")" and within == "code" and opening > 0 and opening - 1 >= start and (
                        self.tokens[opening - 1].text in ("if", "while", "for", "switch", "constexpr")
                        and self.tokens[start].text in ("if", "while", "for", "switch")):
                    start = at + 1
            elif token.text == ";" and (not stack or self.tokens[stack[-1][0]].text == "{"):
                start = at + 1
            elif token.text in ("else", "do") or (token.text == ":" and self.tokens[start].text in ("case", "default",
                                                                                                "public", "private")):
                start = at + 1

    def brace(self, at, start, within):
        """What an opening brace begins."""
        before = self.tokens[at - 1].text if at else ""
        first = self.tokens[start].text if start < at else ""
        head = [token.text for token in self.tokens[start:at]]
        if first == "template" and start + 1 < at and self.tokens[start + 1].mate > 0:
            head = head[self.tokens[start + 1].mate + 1 - start:]
            first = head[0] if head else ""
        if within == "code":
            if start >= at or first in ("try", "catch"):
                return "code"
            if first in ("struct", "class", "union"):
                return "class"
            if first == "enum":
                return "enum"
            return "code inner" if before in (")", "]", "mutable") or "->" in head and "]" in head else "list"
        if within in ("list", "enum"):
            return "code inner" if before in (")", "]") else "list"
        if first in ("namespace", "extern", "inline") and "namespace" in head[:2]:
            return ""
        if first == "enum":
            return "enum"
        if first in ("struct", "class", "union") and "(" not in head:
            return "class"
        if before in (")", "const", "noexcept", "override", "final", "}") or "->" in head:
            return "code"
        return "list"

    def line_of(self, at):
        return bisect.bisect_right(self.lines, at)

    def position(self, line, column):
        return self.lines[line - 1] + column - 1

    # ---- operands ----

    def ends_group(self, at):
        """The token that the group ending with token `at` begins with."""
        token = self.tokens[at]
        return token.mate if token.text in (")", "]", "}", ">", ">>") and token.mate >= 0 else at

    def left_operand(self, at, precedence):
        first = place = at - 1
        while place >= 0:
            token = self.tokens[place]
            if token.text in ENDS_OPERAND or token.text in OPENING or (token.text == "}" and self.tokens[
                    token.mate].mate >= 0 and place + 1 == self.tokens[at].statement):
                break
            if place < self.tokens[at].statement or (token.binary and PRECEDENCE[token.text] < precedence):
                break
            place = self.ends_group(place)
            first = place
            place -= 1
        return self.tokens[first].begin

    def right_operand(self, at, precedence):
        last, place = at, at + 1
        while place < len(self.tokens):
            token = self.tokens[place]
            if token.text in (ENDS_OPERAND if precedence else ",;") or token.text in CLOSING:
                break
            if token.binary and PRECEDENCE[token.text] <= precedence:
                break
            if token.text in (">", ">>") and not token.binary and token.mate < at:
                break
            opens = token.text in OPENING or (token.text == "<" and not token.binary)
            last = token.mate if opens and token.mate > 0 else place
            place = last + 1
        return self.tokens[last].end

    # ---- mistakes ----

    def mutants(self):
        found = []
        for at, token in enumerate(self.tokens):
            constant = self.is_constant(token)
            if token.within in ("code", "list") and not constant:
                found += [*self.of_condition(at), *self.of_operator(at), *self.of_return(at)]
            if token.within == "code" and token.statement == at:
                found += self.of_statement(at)
            if not constant and (token.within in ("code", "list") or (token.within == "class" and any(
                    other.text == "=" for other in self.tokens[token.statement:at]))):
                found += self.of_number(at)
        return sorted((mutant for mutant in found if mutant), key=lambda mutant: (
            mutant.begin, -mutant.end, len(mutant.inside)))

    def is_constant(self, token):
        """Needed by the compiler: no mistake of run time."""
        first = [other.text for other in self.tokens[token.statement:token.statement + 3]]
        if first[:1] == ["if"]:
            return first[1] == "constexpr"
        words = {"constexpr", "static_assert", "using", "case"}
        return not words.union(() if token.within == "code" else ("template", "operator", "enum")).isdisjoint(first)

    def mutant(self, begin, end, kind, shown, before, after, inside=(), at=None):
        shown = " ".join(shown.split())
        return Mutant(begin, end, self.line_of(begin if at is None else at), kind, shown, before, after, tuple(inside))

    def negated(self, begin, end):
        return self.mutant(begin, end, "condition negated", self.text[begin:end],
                           "(::mutants::on(@) != static_cast<bool>(", "))")

    def of_condition(self, at):
        token = self.tokens[at]
        if token.text in ("if", "while") and self.tokens[at + 1].text == "(" and self.tokens[at + 1].mate > 0:
            opening, closing = self.tokens[at + 1], self.tokens[self.tokens[at + 1].mate]
            condition = self.code[opening.end:closing.begin]
            if ";" not in condition and not DECLARATION.match(condition) and condition.strip() not in ("true", "false"):
                yield self.negated(opening.end, closing.begin)
        if token.text == "?":
            yield self.negated(self.left_operand(at, 0), self.code.rindex(self.tokens[at - 1].text, 0, token.begin)
                               + len(self.tokens[at - 1].text))

    def of_operator(self, at):
        token = self.tokens[at]
        if token.text in ("++", "--"):
            yield self.step(at)
        if token.text not in SWAPPED or not (token.binary or token.text in ("+=", "-=")):
            return
        precedence = PRECEDENCE.get(token.text, 0)
        begin, end = self.left_operand(at, precedence), self.right_operand(at, precedence)
        if begin >= token.begin or end <= token.end:
            return
        shown = f"{self.text[begin:end]} [{token.text} -> {SWAPPED[token.text]}]"
        if token.text in ("&&", "||"):
            same = "==" if token.text == "&&" else "!="
            answer = "::mutants::on(@)" if token.text == "&&" else "!::mutants::on(@)"
            yield self.mutant(begin, end, "operator swapped", shown, "(static_cast<bool>(", "))", [(
                token.begin, token.end, f") {same} ::mutants::on(@) ? {answer} : static_cast<bool>(")], token.begin)
        else:
            yield self.mutant(begin, end, "operator swapped", shown, f"::mutants::{FUNCTIONS[token.text]}(@, ", ")",
                              [(token.begin, token.end, ",")], token.begin)

    def step(self, at):
        """++ or --, before or behind its operand."""
        token = self.tokens[at]
        name = {"++": "increment", "--": "decrement"}[token.text]
        shown = f"{token.text} -> {SWAPPED[token.text]}"
        if self.code[token.end] not in " ;),]":
            place = at + 1
            while self.tokens[place].text in ("*", "this"):
                place += 1
            while self.tokens[place + 1].text in (".", "->", "::", "[", "("):
                place += 1
                place = self.tokens[place].mate if self.tokens[place].text in "[(" else place + 1
            end = self.tokens[place].end
            return self.mutant(token.begin, end, "operator swapped", f"{self.text[token.begin:end]} [{shown}]",
                               f"::mutants::{name}(@, ", ")", [(token.begin, token.end, "")])
        place = self.ends_group(at - 1)
        while self.tokens[place - 1].text in (".", "->", "::") or self.tokens[place].text in ("[", "("):
            place = self.ends_group(place - 1) if self.tokens[place].text in ("[", "(") else self.ends_group(place - 2)
        begin = self.tokens[place].begin
        return self.mutant(begin, token.end, "operator swapped", f"{self.text[begin:token.end]} [{shown}]",
                           f"::mutants::{name}_after(@, ", ")", [(token.begin, token.end, "")])

    def of_return(self, at):
        token = self.tokens[at]
        if token.text in ("true", "false") and f"return {token.text};" in RETURNS and (
                self.tokens[at - 1].text == "return" and self.tokens[at + 1].text == ";"):
            yield self.mutant(token.begin, token.end, "answer turned round", f"return {token.text}",
                              f"(::mutants::on(@) != ", ")")

    def of_number(self, at):
        token = self.tokens[at]
        found = NUMBER.match(self.code, token.begin)
        if found is None or not re.fullmatch(r"[uUlL]*", self.code[found.end():token.end]):
            return
        if token.within == "class" and (self.tokens[at - 1].text == "[" or "virtual" in self.text[
                self.tokens[token.statement].begin:token.begin] or self.tokens[at - 2].text in (")", "const")):
            return
        suffix = self.code[found.end():token.end]
        more = int(found.group(0), 0) + 1
        line = self.text[self.lines[self.line_of(token.begin) - 1]:].split("\n", 1)[0]
        column = token.begin - self.lines[self.line_of(token.begin) - 1]
        shown = f"{line[:column]}[{token.text} -> {more}]{line[column + len(token.text):]}"
        yield self.mutant(token.begin, token.end, "constant off by one", shown,
                          f"(::mutants::on(@) ? {more}{suffix} : ", ")")

    def of_statement(self, at):
        first = self.tokens[at]
        if not re.match(r"[\w*(+-]", first.text) or first.text in NO_STATEMENT:
            return
        if LEFT_ALONE.match(self.code, first.begin):
            return
        place = at
        while place < len(self.tokens) and self.tokens[place].text != ";":
            if self.tokens[place].text in "})]":
                return
            if self.tokens[place].text in OPENING:
                if self.tokens[place].mate < 0:
                    return
                place = self.tokens[place].mate
            place += 1
        if place >= len(self.tokens):
            return
        end = self.tokens[place].end
        statement = self.code[first.begin:end]
        if DECLARATION.match(statement) and not statement.startswith(("delete ", "throw ")):
            return
        yield self.mutant(first.begin, end, "statement removed", self.text[first.begin:end],
                          "{ if (!::mutants::on(@)) ", " }")


def switched(text, mutants):
    """(text with every one of [(number, mutant)], [(begin, end) of each in that text])."""
    events = []
    for order, (number, mutant) in enumerate(mutants):
        put = lambda words, number=number: words.replace("@", str(number))
        # What closes at a place comes before what opens there; inner ones close first and open last.
        events.append((mutant.begin, 1, mutant.begin - mutant.end, order, mutant.begin, put(mutant.before), "begin"))
        events.append((mutant.end, 0, -mutant.begin, -order, mutant.end, put(mutant.after), "end"))
        for begin, end, words in mutant.inside:
            events.append((begin, 2, 0, order, end, put(words), ""))
    made, at, length, ranges = [], 0, 0, [[0, 0] for _ in mutants]
    for place, _, _, order, resume, words, role in sorted(events, key=lambda event: event[:4]):
        made.append(text[at:place])
        length += len(made[-1])
        if role == "begin":
            ranges[order][0] = length
        made.append(words)
        length += len(words)
        if role == "end":
            ranges[-order][1] = length
        at = max(place, resume)
    made.append(text[at:])
    return "".join(made), ranges
