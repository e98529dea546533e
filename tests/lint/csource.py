"""A reading of C good enough for lint: comments, includes, functions.

No compiler is needed, so headers, CUDA files and code in untaken #if branches
are seen as well. mask() separates code from comments; functions() gives name,
length, parameters and nesting of each definition.

Nesting is what a reader sees as indentation: the body of a function is level
0; the body of each if, else, for, while, do, switch, bare block or looping
macro is one level deeper, with or without braces; `else if` stays on the
level of its if; case and goto labels add nothing.
"""
import re
from bisect import bisect_right

LEXEME = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'", re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|::|\S")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)")
PAIRS = {"(": ")", "{": "}", "[": "]"}
LOOPS = {"if", "for", "while", "switch"}
SCOPES = {"struct", "class", "union", "namespace", "extern"}
RECORDS = {"struct", "class", "union", "enum"}
NOT_NAMES = {"alignas", "_Alignas", "_Static_assert", "static_assert",
             "decltype", "sizeof", "typeof", "__typeof__", "asm"}
NOT_CALLS = NOT_NAMES | {"return", "__asm__", "__extension__", "goto"}


class Masked:
    """One source text three ways, all with the same line numbers.

    code: comments and the insides of strings blanked; plain: only comments
    blanked; comment: everything but comments blanked.
    """

    def __init__(self, text):
        self.text = text
        code, plain, comment, last = [], [], [], 0
        for match in LEXEME.finditer(text):
            between = text[last:match.start()]
            found = match.group()
            code.append(between)
            plain.append(between)
            comment.append(blank(between))
            if found.startswith("/"):
                code.append(blank(found))
                plain.append(blank(found))
                comment.append(found)
            else:
                code.append(found[0] + blank(found[1:-1]) + found[-1])
                plain.append(found)
                comment.append(blank(found))
            last = match.end()
        code.append(text[last:])
        plain.append(text[last:])
        comment.append(blank(text[last:]))
        self.code = "".join(code)
        self.plain = "".join(plain)
        self.comment = "".join(comment)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def mask(text):
    return Masked(text)


def includes(masked):
    """(line, name, is_quoted) of each #include."""
    for match in INCLUDE.finditer(masked.plain):
        line = masked.plain.count("\n", 0, match.start(1)) + 1
        yield line, match.group(2), match.group(1) == '"'


def strings(masked):
    """(line, text) of each string literal outside #include lines."""
    for match in LEXEME.finditer(masked.plain):
        if match.group().startswith('"'):
            line = masked.plain.count("\n", 0, match.start()) + 1
            yield line, match.group()[1:-1]


def directive_lines(lines):
    """(first, last, name) of each directive, its continuations included."""
    number = 0
    while number < len(lines):
        match = DIRECTIVE.match(lines[number])
        first = number
        while match and lines[number].endswith("\\") \
                and number + 1 < len(lines):
            number += 1
        if match:
            yield first, number, match.group(1)
        number += 1


def macros(masked):
    """(name, first line, last line) of each #define."""
    lines = masked.code.split("\n")
    for first, last, name in directive_lines(lines):
        if name == "define":
            words = re.findall(r"\w+", lines[first])
            yield words[1] if len(words) > 1 else "?", first + 1, last + 1


def without_directives(code):
    """Code with directives blanked and every #if group made parseable.

    All branches stay if each is balanced in itself; else only the first one
    that is not `#if 0`.
    """
    lines = code.split("\n")
    out = list(lines)
    groups = []
    for first, last, name in directive_lines(lines):
        for number in range(first, last + 1):
            out[number] = ""
        if name in ("if", "ifdef", "ifndef"):
            dead = lines[first].split()[-1] == "0"
            groups.append({"starts": [last + 1], "ends": [], "dead": dead})
        elif groups and name in ("elif", "else", "endif"):
            groups[-1]["ends"].append(first)
            if name != "endif":
                groups[-1]["starts"].append(last + 1)
            else:
                settle_group(out, groups.pop())
    return "\n".join(out)


def settle_group(out, group):
    branches = list(zip(group["starts"], group["ends"]))
    drop = branches[:1] if group["dead"] else []
    if not all(balanced("\n".join(out[a:b])) for a, b in branches):
        keep = branches[len(drop):][:1]
        drop = [b for b in branches if b not in keep]
    for start, end in drop:
        for number in range(start, end):
            out[number] = ""


def balanced(text):
    levels = {"{": 0, "(": 0}
    for char in text:
        if char in levels:
            levels[char] += 1
        elif char in "})":
            opening = "{" if char == "}" else "("
            levels[opening] -= 1
            if levels[opening] < 0:
                return False
    return not any(levels.values())


class Function:
    """One definition; line is that of its name, end that of its last brace."""

    def __init__(self, name, line, end, head, params):
        self.name = name
        self.line = line
        self.end = end
        self.is_static = "static" in head
        self.params = params
        self.depth = 0
        self.deepest = line

    @property
    def length(self):
        return self.end - self.line + 1


class Parser:
    """Finds definitions at file scope and measures their bodies."""

    def __init__(self, code):
        newlines = [m.start() for m in re.finditer("\n", code)]
        self.tokens = []
        self.lines = []
        for match in TOKEN.finditer(code):
            self.tokens.append(match.group())
            self.lines.append(bisect_right(newlines, match.start()) + 1)
        self.functions = []
        self.now = None

    def text(self, at):
        return self.tokens[at] if at < len(self.tokens) else ""

    def close(self, at):
        """Index of the token that closes the one at `at`, or the end."""
        want, level = PAIRS[self.tokens[at]], 0
        opening = self.tokens[at]
        while at < len(self.tokens):
            if self.tokens[at] == opening:
                level += 1
            elif self.tokens[at] == want:
                level -= 1
                if level == 0:
                    return at
            at += 1
        return len(self.tokens) - 1

    def file_scope(self, at, end):
        start = at
        while at < end:
            token = self.tokens[at]
            if token in ("(", "["):
                at = self.close(at)
            elif token in (";", "}"):
                start = at + 1
            elif token == "{":
                at, start = self.brace(start, at)
            at += 1

    def brace(self, start, at):
        """Enter the brace at `at` of the declaration that began at start."""
        end = self.close(at)
        head = self.tokens[start:at]
        group = None if "=" in head else self.parameter_group(start, at)
        if group is not None:
            self.function(start, group, at, end)
            return end, end + 1
        if SCOPES & set(head[:4]) and "=" not in head:
            self.file_scope(at + 1, end)
        # struct bodies go on to a declarator, extern "C" and functions not
        if "extern" in head[:1] or "namespace" in head:
            return end, end + 1
        return end, start

    def parameter_group(self, start, at):
        """Index of '(' of the parameters; None if this is no function.

        Annotations in capitals or underscores may stand around the real
        list; a definition made of one macro alone counts as a function.
        """
        groups, index = [], start
        while index < at:
            if self.tokens[index] in PAIRS:
                if self.tokens[index] == "(" and index > start:
                    groups.append(index)
                index = self.close(index)
            index += 1
        groups = [g for g in groups
                  if re.match(r"[A-Za-z_]", self.tokens[g - 1])
                  and self.tokens[g - 1] not in NOT_NAMES]
        real = [g for g in groups if not is_annotation(self.tokens[g - 1])]
        if not real and RECORDS & set(self.tokens[start:start + 4]):
            return None
        return (real or groups or [None])[0]

    def function(self, start, group, at, end):
        params = self.count_parameters(group)
        found = Function(self.tokens[group - 1], self.lines[group - 1],
                         self.lines[end], self.tokens[start:group], params)
        self.functions.append(found)
        self.now = found
        self.statements(at + 1, end, 0)

    def count_parameters(self, group):
        end = self.close(group)
        inside = self.tokens[group + 1:end]
        if not inside or inside == ["void"]:
            return 0
        count, at = 1, group + 1
        while at < end:
            if self.tokens[at] in PAIRS:
                at = self.close(at)
            elif self.tokens[at] == ",":
                count += 1
            at += 1
        return count

    def statements(self, at, end, depth):
        while at < end:
            at = self.statement(at, end, depth)

    def enter(self, at, depth):
        if depth > self.now.depth and at < len(self.lines):
            self.now.depth = depth
            self.now.deepest = self.lines[at]

    def body(self, at, end, depth):
        """A statement under a control word; its braces add no level."""
        self.enter(at, depth)
        if self.text(at) == "{":
            close = self.close(at)
            self.statements(at + 1, close, depth)
            return close + 1
        return self.statement(at, end, depth)

    def statement(self, at, end, depth):
        """Measure the statement at `at`; the index behind it."""
        token = self.text(at)
        if token == "{":
            return self.body(at, end, depth + 1)
        if token in LOOPS:
            return self.control(at, end, depth)
        if token == "else":
            if self.text(at + 1) == "if":
                return self.control(at + 1, end, depth)
            return self.body(at + 1, end, depth + 1)
        if token == "do":
            return self.body(at + 1, end, depth + 1)
        if token == "case" or token == "default" or (
                self.text(at + 1) == ":" and re.match(r"[A-Za-z_]", token)):
            return self.label(at, end)
        return self.expression(at, end, depth)

    def control(self, at, end, depth):
        while at < end and self.text(at) != "(":
            at += 1
        if at >= end:
            return end
        after = self.close(at) + 1
        if self.text(after) == ";":
            return after + 1
        return self.body(after, end, depth + 1)

    def label(self, at, end):
        while at < end and self.text(at) != ":":
            at = self.close(at) if self.text(at) == "(" else at
            at += 1
        return at + 1

    def expression(self, at, end, depth):
        """To the ';'. NAME(...) before a statement is a looping macro."""
        if self.text(at + 1) == "(" and is_macro_call(self.text(at)):
            after = self.close(at + 1) + 1
            if after < end and re.match(r"[{A-Za-z_]", self.text(after)):
                return self.body(after, end, depth + 1)
        while at < end and self.text(at) != ";":
            at = self.close(at) if self.text(at) in PAIRS else at
            at += 1
        return at + 1


def is_macro_call(name):
    return re.match(r"[A-Za-z_]", name) and name not in NOT_CALLS


def is_annotation(name):
    return name.startswith("__") or not re.search(r"[a-z]", name)


def functions(masked):
    parser = Parser(without_directives(masked.code))
    parser.file_scope(0, len(parser.tokens))
    return parser.functions
