"""Line numbers of TOML keys agree with tomllib's keys."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allstop.settings.files.toml_lines import find_lines, first_duplicate, line_of

EXAMPLE = '''\
# a comment with [brackets] and = signs
title = "x" # [not.a.table]

[loop] # first
mode = 'semi'
  indented = 1
"quoted key" = 2
'single.dotted' = 3
a.b . "c" = 4

[agents."my.agent"]
text = """
[loop.hidden]
fake = 1
\\"""still inside""" # end
raw = \'\'\'
[x]
'' y = 2\'\'\'\'\'
list = [ # begins
  "a, b",
  ["]", '['],

  { name = "x", deep = { k = 1 } },
]
after = {one = 1, two = [1, {three = 3}]}

[[verification.commands]]
run = "a"
[[verification.commands]]
run = "b"
[verification.commands.sub]
key = 1
[[verification.commands.steps]]
do = 1
[[verification.commands.steps]]
do = 2
'''

LINES = {
    ("title",): 2,
    ("loop",): 4,
    ("loop", "mode"): 5,
    ("loop", "indented"): 6,
    ("loop", "quoted key"): 7,
    ("loop", "single.dotted"): 8,
    ("loop", "a"): 9,
    ("loop", "a", "b"): 9,
    ("loop", "a", "b", "c"): 9,
    ("agents",): 11,
    ("agents", "my.agent"): 11,
    ("agents", "my.agent", "text"): 12,
    ("agents", "my.agent", "raw"): 16,
    ("agents", "my.agent", "list"): 19,
    ("agents", "my.agent", "list", 0): 20,
    ("agents", "my.agent", "list", 1): 21,
    ("agents", "my.agent", "list", 1, 0): 21,
    ("agents", "my.agent", "list", 1, 1): 21,
    ("agents", "my.agent", "list", 2): 23,
    ("agents", "my.agent", "list", 2, "name"): 23,
    ("agents", "my.agent", "list", 2, "deep"): 23,
    ("agents", "my.agent", "list", 2, "deep", "k"): 23,
    ("agents", "my.agent", "after"): 25,
    ("agents", "my.agent", "after", "one"): 25,
    ("agents", "my.agent", "after", "two"): 25,
    ("agents", "my.agent", "after", "two", 0): 25,
    ("agents", "my.agent", "after", "two", 1): 25,
    ("agents", "my.agent", "after", "two", 1, "three"): 25,
    ("verification",): 27,
    ("verification", "commands"): 27,
    ("verification", "commands", 0): 27,
    ("verification", "commands", 0, "run"): 28,
    ("verification", "commands", 1): 29,
    ("verification", "commands", 1, "run"): 30,
    ("verification", "commands", 1, "sub"): 31,
    ("verification", "commands", 1, "sub", "key"): 32,
    ("verification", "commands", 1, "steps"): 33,
    ("verification", "commands", 1, "steps", 0): 33,
    ("verification", "commands", 1, "steps", 0, "do"): 34,
    ("verification", "commands", 1, "steps", 1): 35,
    ("verification", "commands", 1, "steps", 1, "do"): 36,
}


def paths_of(value, path=()):
    """Every table, key and list item that the real parser found."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths_of(inner, (*path, name))
    elif isinstance(value, list):
        for key_line, inner in enumerate(value):
            yield from paths_of(inner, (*path, key_line))


def test_each_key_table_and_item_has_the_line_it_begins_on():
    assert find_lines(EXAMPLE) == LINES


def test_the_example_is_what_the_parser_understands():
    assert set(paths_of(tomllib.loads(EXAMPLE))) == set(LINES)


def test_a_key_without_a_line_of_its_own_is_where_its_table_is():
    assert line_of(LINES, ("loop", "missing", "deeper")) == 4
    assert line_of(LINES, ("nothing",)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "[[a]",
        "= 1",
        "a = [",
        'a = "',
        "a = '''",
        "a = {",
        "a",
        "]",
        "a = }",
        "\x00",
        "'",
        '"""',
    ],
)
def test_what_is_no_toml_is_passed_over(text):
    assert find_lines(text + "\n").keys() <= {("a",), ("a", 0)}


def test_a_key_written_twice_is_found_with_both_lines():
    first, again = first_duplicate("[a]\nx = 1\n[b]\nx = 1\n[c]\ny = 1\n'y' = 2\n")

    assert (first.path, first.line, again.line) == (("c", "y"), 6, 7)


KEYS = st.one_of(
    st.text("abcXYZ019_-", min_size=1, max_size=6),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6),
)
STRINGS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def quoted(text):
    escaped = "".join(
        f"\\u{ord(each):04x}" if each in '"\\' or ord(each) < 0x20 or ord(each) == 0x7F else each
        for each in text
    )
    return f'"{escaped}"'


def key_text(name):
    plain = name and all(each.isascii() and (each.isalnum() or each in "_-") for each in name)
    return name if plain else quoted(name)


class Writer:
    """Writes a generated document and notes in which line it put each key."""

    def __init__(self, draw):
        self.draw = draw
        self.text = ""
        self.lines = {}

    def note(self, path):
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], self.text.count("\n") + 1)

    def gap(self):
        self.text += self.draw(st.sampled_from(["", "\n", "# [x] = '\n", " \t\n\n", "  "]))

    def table(self, value, path, dotted):
        """First the plain keys, then the tables, as TOML demands."""
        for name, inner in value.items():
            if not is_table(inner):
                self.gap()
                self.note((*path, name))
                self.text += key_text(name) + self.draw(st.sampled_from([" = ", "=", "\t= "]))
                self.value(inner, (*path, name))
                self.text += self.draw(st.sampled_from(["\n", " # ] } '\n"]))
        for name, inner in value.items():
            if is_table(inner):
                self.tables(inner, (*path, name), [*dotted, key_text(name)])

    def tables(self, value, path, dotted):
        header = self.draw(st.sampled_from([".", " . "])).join(dotted)
        if isinstance(value, dict):
            self.gap()
            self.note(path)
            self.text += f"[{header}]\n"
            self.table(value, path, dotted)
            return
        for key_line, inner in enumerate(value):
            self.gap()
            self.note((*path, key_line))
            self.text += f"[[{header}]]\n"
            self.table(inner, (*path, key_line), dotted)

    def value(self, value, path):
        if isinstance(value, str):
            self.string(value)
        elif isinstance(value, list):
            self.array(value, path)
        elif isinstance(value, dict):
            self.inline(value, path)
        else:
            self.text += str(value).lower()

    def string(self, value):
        if "'''" not in value and not value.endswith("'") and value.isprintable():
            self.text += self.draw(
                st.sampled_from([f"'''\n{value}\n'''", f'"""\n[x]\n{quoted(value)[1:-1]}"""'])
            )
        else:
            self.text += quoted(value)

    def array(self, value, path):
        self.text += "["
        for key_line, inner in enumerate(value):
            self.text += self.draw(st.sampled_from(["", "\n", " # ]\n", " "]))
            self.note((*path, key_line))
            self.value(inner, (*path, key_line))
            self.text += ", "
        self.text += "]"

    def inline(self, value, path):
        self.text += "{"
        for key_line, (name, inner) in enumerate(value.items()):
            self.text += ", " if key_line else " "
            self.note((*path, name))
            self.text += key_text(name) + " = "
            self.value(inner, (*path, name))
        self.text += "}"


def is_table(value):
    """Whether it is written with a header of its own; "t" and "a" stand for that choice."""
    return isinstance(value, Table) or (
        isinstance(value, list) and bool(value) and all(isinstance(each, Table) for each in value)
    )


class Table(dict):
    """A table that gets a header; a plain dict is written inline."""


PLAIN = st.recursive(
    st.one_of(st.integers(-9, 9), st.booleans(), STRINGS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
TABLES = st.recursive(
    st.dictionaries(KEYS, PLAIN, max_size=4).map(Table),
    lambda inner: st.dictionaries(
        KEYS, st.one_of(PLAIN, inner, st.lists(inner, min_size=1, max_size=3)), max_size=4
    ).map(Table),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.data(), TABLES)
def test_the_line_of_every_key_of_a_generated_document_is_found(data, document):
    writer = Writer(data.draw)
    writer.table(document, (), [])

    parsed = tomllib.loads(writer.text)

    found = find_lines(writer.text)
    assert found == writer.lines
    assert set(paths_of(parsed)) == set(writer.lines)


@settings(deadline=None)
@given(st.text("[]{}=.,'\"#\n\\ab1 ", max_size=60))
def test_no_text_confuses_the_finder_and_all_valid_text_is_understood(text):
    found = find_lines(text)

    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(paths_of(parsed)) == set(found)
