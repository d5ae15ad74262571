"""K18, Q22: groups, conditions, loops and programs that are given files, judged by what they run."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.shell import check, parse
from allstop.core.allowing.policy import Policy
from allstop.core.approvals import Decision, Rule

POLICY = Policy(workspace="/home/ann/project")
CORPUS = Path(__file__).parent.parent / "corpus" / "unsafe.jsonl"
UNSAFE = [
    command
    for line in CORPUS.read_text().splitlines()
    if (command := json.loads(line)["command"]).strip()
]
WRAPPINGS = [
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "if {}; then ls; fi",
    "if ls; then pwd; else {}; fi",
    "for f in a; do {}; done",
    "for f in a b; do if [ -f $f ]; then {}; fi; done",
    "cat <({})",
    "cat < <({})",
    "! {}",
    "ls # x\n{}",
    "{} # x",
    "time {}",
    "timeout 5 {}",
    "LC_ALL=C {}",
    "ls | {}",
    "{{ ls; ({}); }} | head",
]


def said(text, policy=POLICY):
    return check(policy, text).decision


@pytest.mark.parametrize(
    "text",
    [
        "(cd web && ls)",
        "{ ls; pwd; }",
        "if [ -f tox.ini ]; then cat tox.ini; elif ls; then pwd; else echo no; fi",
        "! grep -q foo README.md",
        "# what is there\nls # all of it\npwd",
        "bash -lc 'ls | head'",
        "LC_ALL=C sort a.txt",
        "GIT_PAGER=cat git log -3",
        "timeout 20 rg foo src",
        "time wc -l src/a.py",
        "echo $?",
        "diff -u <(sort a.txt) <(sort b.txt) | head",
        "cat < <(ls)",
        "timeout 5 git log",
        "for f in a.py b.py; do wc -l $f; done",
        'for f in src/*.py; do echo "== $f"; head -5 "$f"; done',
        'for d in web api; do (cd "$d" && ls); done',
        'for i in 1 2; do echo "$i"; done | sort',
    ],
)
def test_k18_commands_in_groups_are_as_harmless_as_alone(text):
    assert said(text) is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        "(cd a && ls) && cat ../x",
        "(cd a && ls) | cat ../x",
        "! cd a && cat ../x",
        "if cd a; then cat ../x; fi",
        "{ rm x; }",
        "if true; then rm x; fi",
        "ls # a\nrm x",
        "echo \\ #a;rm x",
        "PATH=. ls",
        "LC_ALL=../x ls",
        "GIT_PAGER=less git log",
        "timeout 5 rm x",
        "time cd a && cat ../x",
        "bash -c 'rm x'",
        "bash -c \"bash -c 'rm x'\"",
        "for f in .env; do cat $f; done",
        "for f in a; do cat ../$f; done",
        "for f in $(ls); do cat $f; done",
        "for f in src/*.py; do cat $f; done",
        "for f in a; do for f in .env; do cat $f; done; done",
        "for f in a; do f=.env; cat $f; done",
        "for f in a; do ls; done; cat $f",
        "for path in bin; do ls; done",
        'for f in config/*; do cat "./$f"; done',
        'for f in config/*; do cat "$f"; done',
        'for f in */; do sort "${f}x"; done',
        "for PATH in bin; do ls; done",
        "for f in -x; do ls $f; done",
        "for f in a; do sh $f; done",
        "((1))",
        "f() { ls; }; f",
        "while true; do ls; done",
        "[ -f * ]",
        "cat < <(rm x)",
        "[ -f <(rm x) ]",
        "cat <(rm x)",
        "cat <(cat <(cat .env))",
        "ls && cat <(cd a && ls) ../x",
        "cd a && cat <(cd b && ls) && cat ../../x",
        "time cd a && git status",
        "timeout 5 git push",
        "cat < *.md",
    ],
)
def test_k18_a_group_hides_nothing(text):
    assert said(text) is not Decision.ALLOW


def test_k18_a_loop_is_what_it_runs():
    unrolled = parse('for f in a b; do cat "$f" | head; done')

    assert [(each.words, each.after) for each in unrolled.commands] == [
        (("cat", "a"), ""),
        (("head",), "|"),
        (("cat", "b"), ";"),
        (("head",), "|"),
    ]


def test_k18_a_rule_about_a_shell_is_not_got_around_by_its_script():
    denies = Rule(prefix=("bash",), decision=Decision.DENY)
    policy = Policy(workspace="/home/ann/project", rules=(denies,))

    assert said("bash -c ls", policy) is Decision.DENY


def test_k18_a_rule_that_allows_covers_no_pattern_that_can_become_an_option():
    allows = Rule(prefix=("cargo", "test"), decision=Decision.ALLOW)
    policy = Policy(workspace="/home/ann/project", rules=(allows,))

    assert said("cargo test src/*.rs", policy) is Decision.ALLOW
    assert said("cargo test *", policy) is Decision.ASK


@pytest.mark.parametrize(
    "text",
    [
        "find . -name '*.py' -exec grep -n TODO {} +",
        "find . -type f -exec wc -l {} \\;",
        "find . -path ./x -prune -o -name '*.py' -exec head -3 {} \\;",
        "find . \\( -name '*.ts' -o -name '*.tsx' \\) -exec grep -l x {} +",
        "find . -name Makefile -exec cat {} +",
        "find . -name '*.go' -print0 | xargs -0 grep -n TODO",
        "find . -type f -print0 | xargs -0 wc -l",
        "rg -l foo | head -5 | xargs ls -la",
        "rg -l foo | xargs grep -l bar",
    ],
)
def test_k18_files_that_are_found_are_given_to_what_only_looks(text):
    assert said(text) is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        "find . -type f -exec cat {} +",
        "find . -name '.e*' -exec cat {} +",
        "find . -name '*.py' -exec sh {} \\;",
        "find . -name '*.py' -exec sed -i s/a/b/ {} +",
        "find . -name '*.py' -exec uniq {} +",  # the second file would be written
        "find . -name '*.py' -exec rm {} +",
        "find . -name '*.py' -execdir head {} +",
        "find . -name '*.py' -exec head {}x +",
        "find . -name '*.py' -exec {} +",
        "find . -name '*.py' -exec head {}",
        "find . -name '*.py' -o -type f -exec cat {} +",
        "find . ! -name '*.py' -exec cat {} +",
        "find . ! \\( -name '*.py' -o -name '*.ts' \\) -exec cat {} +",
        "find . -name .env -prune -exec cat {} +",
        "find . \\( -name .env -prune -o -name '*.py' \\) -exec cat {} +",
        "find . -type f -print0 | xargs -0 cat",
        "find . -name config -exec cat {} +",
        "find . -name '*.md' -print0 | head -z names.txt | xargs -0 cat",
        "ls | head names.txt | xargs ls",
        "find . -name '*.py' | xargs cat",  # a name with a blank leads anywhere
        "find . -name '*.py' -print0 | xargs -0 sort",
        "echo /etc/passwd | xargs ls",
        "(echo /etc/passwd; ls) | xargs ls",
        "ls | xargs rm",
        "ls | xargs -I{} sh -c {}",
        "xargs ls",
    ],
)
def test_k18_files_that_are_found_are_not_given_to_what_could_do_harm(text):
    assert said(text) is not Decision.ALLOW


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("ls *.md", Decision.ALLOW),
        ("cat *.md", Decision.ALLOW),
        ("ls -d */", Decision.ALLOW),
        ("stat dist/*", Decision.ALLOW),
        ("cat dist/*", Decision.ASK),
        ("cat *", Decision.ASK),
        ("sort *.md", Decision.ASK),
        ("sed -n 1p *.py", Decision.ASK),
        ("rg foo *.py", Decision.ASK),
        ("wc -l *.py", Decision.ALLOW),
        ("wc -l *", Decision.ASK),
        ("test -f *", Decision.ASK),
    ],
)
def test_k18_a_pattern_of_files_is_for_programs_that_no_name_can_steer(text, decision):
    assert said(text) is decision


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("grep -rn TODO .", Decision.ALLOW),
        ("grep -rn password src", Decision.ALLOW),
        ("grep -rln password .", Decision.ALLOW),
        ("grep -rn password . --include='*.py'", Decision.ALLOW),
        ("rg password", Decision.ALLOW),
        ("rg -uu parseConfig", Decision.ALLOW),
        ("grep -rn password .", Decision.ASK),
        ("grep -rn password . --include='*.env'", Decision.ASK),
        ("grep -rn password", Decision.ASK),
        ("grep -r '' .", Decision.ASK),
        ("grep -rv zzz .", Decision.ASK),
        ("grep -rE 'zzzz|.' .", Decision.ASK),
        ("grep -r -e zzzz -e . .", Decision.ASK),
        ("grep -r -f x.txt .", Decision.ASK),
        ("grep --color -r secret .", Decision.ASK),
        ("rg -uuu SECRET", Decision.ASK),
        ("rg -C 9999 foo src", Decision.ASK),
        ("grep -rA9999 import .", Decision.ASK),
        ("rg --passthru foo src", Decision.ASK),
        ("rg 'a?' src", Decision.ASK),
        ("rg 'foo|b' src", Decision.ASK),
        ("rg '\\p{L}' src", Decision.ASK),
        ("rg -w id src", Decision.ALLOW),
        ("rg '=>' src", Decision.ALLOW),
        ("rg -o '\\bv[0-9]+\\.[0-9]+' docs", Decision.ALLOW),
        ("rg -U '(?s).*' src", Decision.ASK),
        ("rg '\\$\\{' src", Decision.ALLOW),
        ("grep -rn '' config", Decision.ASK),
        ("rg . src", Decision.ASK),
        ("rg -n . src/a.py", Decision.ALLOW),
        ("rg -c '' src", Decision.ALLOW),
        ("grep -rn password config", Decision.ASK),
        ("rg -uu --type-add 'py:.env' -tpy SECRET", Decision.ASK),
        ("rg --hidden -g '*.json' token", Decision.ASK),
        ("git diff --no-index empty .", Decision.ASK),
        ("git diff --no-index a.txt b.txt", Decision.ALLOW),
        ("diff -rN empty .", Decision.ASK),
        ("diff -rN a b", Decision.ASK),
        ("diff -r src lib", Decision.ALLOW),
        ("diff -rq . lib", Decision.ALLOW),
        ("jq .env a.json", Decision.ALLOW),
        ("jq '.a | env' a.json", Decision.ASK),
        ("rg --hidden --no-ignore '=' .", Decision.ASK),
    ],
)
def test_k18_a_search_through_hidden_files_is_not_for_secrets(text, decision):
    assert said(text) is decision


@given(st.sampled_from(WRAPPINGS), st.sampled_from(UNSAFE))
def test_k18_q22_nothing_unsafe_is_hidden_by_what_it_is_wrapped_in(wrapping, command):
    assert said(wrapping.format(command)) is not Decision.ALLOW
    assert said(f"bash -lc {shlex.quote(command)}") is not Decision.ALLOW
