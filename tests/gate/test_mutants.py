"""Mutants (V7): which lines are broken, how, and how many."""

import ast

from allstop.gate import mutants as module
from allstop.gate.facts import ChangedFile
from allstop.gate.mutants import MOST, changed_lines, mutants, without_grammar
from allstop.gate.syntax import parse
from support.cases import for_each

BROKEN = [
    ("a.py", "def f(a, b):\n    return a + b\n", ["a + b → None", "+ → -"]),
    ("a.py", "def f():\n    return None\n", ["None → 7919"]),
    ("a.py", "if a == 1:\n    b()\n", ["a == 1 → not (a == 1)", "== → !=", "1 → 2", "b() → pass"]),
    ("a.py", "x = a and not b\n", ["and → or"]),
    ("a.py", "x = True\n", ["True → False"]),
    ("a.js", "function f(a, b) { return a + b }\n", ["a + b → undefined", "+ → -"]),
    ("a.js", "const f = (a) => a * 2\n", ["a * 2 → undefined", "* → +", "2 → 3"]),
    ("a.ts", "if (a === b) c()\n", ["(a === b) → (!(a === b))", "=== → !=="]),
    ("a.go", "package a\nfunc F(a int) int { return a + 1 }\n", ["a + 1 → 7919", "+ → -", "1 → 2"]),
    ("a.go", "package a\nfunc F(a int) bool { return a > 1 }\n", ["a > 1 → !(a > 1)", "> → <="]),
    ("a.rs", "fn f(a: i32) -> i32 { a + 1 }\n", ["a + 1 → 7919", "+ → -", "1 → 2"]),
    ("a.rs", "fn f(a: i32) -> bool { return a > 1; }\n", ["a > 1 → !(a > 1)"]),
]  # fmt: skip


def test_v7_changed_lines_are_broken_in_the_ways_of_their_language():
    def check(case):
        path, text, expected = case
        found = [each.words for each in mutants([ChangedFile(path=path, before=None, after=text)])]
        for words in expected:
            assert words in found, (words, found)

    for_each(BROKEN, check)


def test_v7_the_mutant_that_returns_something_else_comes_first():
    def check(case):
        path, text, expected = case
        (first, *_) = mutants([ChangedFile(path=path, before="", after=text)], 25)
        assert first.words in expected[:1] or "if" in text, first

    for_each([case for case in BROKEN if "return" in case[1]], check)


def test_v7_only_changed_lines_of_product_code_are_broken():
    before = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    return a\n"
    after = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    return a * 3\n"
    test = ChangedFile(path="tests/test_a.py", before="", after=after)

    found = mutants([ChangedFile(path="a.py", before=before, after=after), test])

    assert {(each.path, each.line) for each in found} == {("a.py", 6)}
    for each in found:
        ast.parse(each.text)
        assert changed_lines(after, each.text) == {6}


def test_v7_inline_tests_beside_the_product_are_left_alone():
    text = "fn f() -> i32 { 1 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(f(), 1 + 0); }\n}\n"

    found = mutants([ChangedFile(path="src/lib.rs", before="", after=text)])

    assert {each.line for each in found} == {1}


def test_v7_there_are_at_most_25_and_each_changed_line_has_its_turn():
    text = "".join(f"x{n} = a{n} + {n}\n" for n in range(100))

    found = mutants([ChangedFile(path="a.py", before="", after=text)])

    assert len(found) == MOST
    assert len({each.line for each in found}) == MOST
    assert max(each.line for each in found) > 60


def test_v7_files_in_other_languages_and_deleted_ones_have_none():
    ruby = ChangedFile(path="a.rb", before="", after="a + 1\n")
    gone = ChangedFile(path="a.py", before="a + 1\n", after=None)
    binary = ChangedFile(path="b.py", before="", after="", is_readable=False)

    assert mutants([ruby, gone, binary]) == ()
    assert without_grammar([ruby, gone, binary]) == ()


def test_v7_every_mutant_is_still_a_program():
    def check(case):
        path, text, _expected = case
        for each in mutants([ChangedFile(path=path, before=None, after=text)]):
            assert not parse(path, each.text).root.has_error, each

    for_each(BROKEN, check)


def test_v7_survivors_are_named_by_place():
    (mutant, *_) = mutants([ChangedFile(path="a.py", before="", after="x = a + b\n")])
    assert module.survivor_lines([mutant]) == ("a.py:1 + → -",)
