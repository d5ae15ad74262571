"""K18, Q22: nested commands are asked about; searches show no secrets; nothing unsafe is hidden."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.shell import check
from allstop.core.asks import Decision, Rule
from allstop.policy.policy import Policy
from support.cases import for_each

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


@for_each(
    "text",
    [
        "(ls)",
        "{ ls; }",
        "! ls",
        "ls # all of it",
        "if [ -f a ]; then ls; fi",
        "case a in a) ls;; esac",
        "for f in a b; do ls; done",
        "for ((i = 0; i < 3; i++)); do ls; done",
        "while ls; do pwd; done",
        "until ls; do pwd; done",
        "select f in a b; do ls; done",
        "f() { ls; }; f",
        "((1))",
        "[[ -f a ]]",
        "ls &",
        "LC_ALL=C ls",
        "GIT_PAGER=cat git log",
        "x=1",
        "cat <(ls)",
        "cat < <(ls)",
        "ls > >(cat)",
        "[ -f <(ls) ]",
        "bash -c ls",
        "bash -lc 'ls | head'",
        "/bin/sh -c ls",
        "bash -n a.sh",
        "time ls",
        "timeout 5 ls",
        "env ls",
        "find . -exec wc -l {} +",
        "find . -exec wc -l {} \\;",
        "find . -execdir ls {} +",
        "find . -ok ls {} \\;",
        "find . -delete",
        "find . -fprint a",
        "find . -print0 | xargs -0 wc -l",
        "xargs ls",
        "ls *.md",
        "ls -d */",
        "[ -f * ]",
        "cat < *.md",
        "jq . -- --arg a .env",
        "jq --indent --arg . .env 2",
        "python manage --help",
        "cargo xtask --help",
        "npm run",
        "cat /etc/os-release",
    ],
)
def test_k18_what_expands_nests_or_starts_another_program_is_asked_about(text):
    assert said(text) is Decision.ASK


@pytest.mark.parametrize(
    "text", ["find . -name '*.py'", "rg -g '*.ts' foo", "grep -r foo --include='*.py' src"]
)
def test_k18_a_pattern_in_quotes_is_a_word(text):
    assert said(text) is Decision.ALLOW


def test_k18_a_rule_about_a_shell_is_not_got_around_by_its_script():
    denies = Rule(prefix=("bash",), decision=Decision.DENY)
    policy = Policy(workspace="/home/ann/project", rules=(denies,))

    assert said("bash -c ls", policy) is Decision.DENY


def test_k18_a_rule_that_allows_covers_no_pattern_of_files():
    allows = Rule(prefix=("cargo", "test"), decision=Decision.ALLOW)
    policy = Policy(workspace="/home/ann/project", rules=(allows,))

    assert said("cargo test src/a.rs", policy) is Decision.ALLOW
    assert said("cargo test src/*.rs", policy) is Decision.ASK


@for_each(
    ("program", "decision"),
    [
        ("{print $1}", Decision.ALLOW),
        ("NR>=10 && NR<=20", Decision.ALLOW),
        ("{count[$1]++} END {for (k in count) print k, count[k]}", Decision.ALLOW),
        ("!seen[$0]++", Decision.ALLOW),
        ("{print toupper($1), substr($0, 1, 3)}", Decision.ALLOW),
        ('{gsub(/,/, ""); print $2}', Decision.ALLOW),
        ('BEGIN{system("id")}', Decision.ASK),
        ('BEGIN{system ("id")}', Decision.ASK),
        ('{print > "x"}', Decision.ASK),
        ('{print $1,\n$2 > "x"}', Decision.ASK),
        ('{print $1 >> "x"}', Decision.ASK),
        ('{print (1)(2) > "x"}', Decision.ASK),
        ('{print | "sh"}', Decision.ASK),
        ('{"id" | getline x}', Decision.ASK),
        ('BEGIN{print ENVIRON["HOME"]}', Decision.ASK),
        ('BEGIN{ARGV[1]="a";ARGC=2}{print}', Decision.ASK),
        ('BEGIN{f="system";@f("id")}', Decision.ASK),
        ('BEGIN{if (1) /"/; system("id"); "/"}', Decision.ASK),
        ('{print length/"/; system(id); "/NR}', Decision.ASK),
        ("{print f(1)}", Decision.ASK),
        ("BEGIN{while(1) x++}", Decision.ASK),
    ],
)
def test_k18_only_programs_of_awk_that_print_are_known(program, decision):
    assert said(f"awk '{program}' a.txt") is decision


@for_each(
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
