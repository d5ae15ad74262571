"""K18, F5: what the policy says can be asked for without running anything."""

import json

RULES = """\
[[rules]]
allow = "cargo test"
match = ["cargo test -q", "ls && cargo test"]
not_match = ["cargo build", "cargo test $X"]

[[rules]]
deny = ["git", "log"]
why = "too long"
"""


def check(person, *arguments, **options):
    return person.allstop("approvals", "check", *arguments, **options)


def test_k18_a_command_is_judged_and_the_rule_is_named(person):
    assert check(person, "git log -5 | head") == "allow  built-in: git log, built-in: head\n"
    assert check(person, "frobnicate x") == "ask    frobnicate: not on the list\n"
    assert check(person, "sudo ls") == "deny   never: takes over the machine\n"
    assert check(person, f"cat {person.repository}/a") == "allow  built-in: cat\n"


def test_k18_many_commands_are_judged_a_line_each(person):
    lines = "\n".join(json.dumps(each) for each in ("ls", "rm x", "echo \ud800", "ls\x00"))

    told = check(person, "--stdin", "--json", stdin=lines).splitlines()
    assert [json.loads(line) for line in told] == [
        {"command": "ls", "decision": "allow", "rule": "built-in: ls"},
        {"command": "rm x", "decision": "ask", "rule": "rm: not on the list"},
        {
            "command": "echo \ud800",
            "decision": "ask",
            "rule": "an invisible character: U+D800",
        },
        {"command": "ls\x00", "decision": "ask", "rule": "an invisible character: U+0000"},
    ]


def test_k18_rules_of_a_file_are_used(person):
    person.write("rules.toml", RULES)

    assert check(person, "--rules", "rules.toml", "cargo test -q") == (
        "allow  approvals.rules[0]: allow cargo test\n"
    )
    assert check(person, "--rules", "rules.toml", "nohup git log") == (
        "deny   approvals.rules[1]: deny git log (too long)\n"
    )


def test_k18_rules_of_the_settings_are_used(person):
    person.write("allstop.toml", "[approvals]\nrules = [{deny = 'git log'}]\n")

    assert check(person, "git log").startswith("deny")


def test_k18_a_rule_whose_examples_do_not_come_out_is_a_mistake(person):
    person.write("rules.toml", "\n[[rules]]\nallow = 'cargo test'\nmatch = ['cargo build']\n")

    done = person.try_allstop("approvals", "check", "--rules", "rules.toml", "ls")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {person.repository}/rules.toml:2: approvals.rules[0]:"
        " allow 'cargo test' doesn't match its example 'cargo build'\n"
    )


def test_k18_examples_in_the_settings_are_checked_too(person):
    rule = "{allow = 'python', match = ['python x.py']}"
    person.write("allstop.toml", f"[approvals]\nrules = [{rule}]\n")

    done = person.try_allstop("config")
    assert done.returncode == 2
    assert done.stderr == (
        "error: allstop.toml:2: approvals.rules[0]:"
        " allow 'python' doesn't match its example 'python x.py': it is an interpreter\n"
    )


def test_k18_a_rule_that_could_allow_nothing_is_a_mistake(person):
    """Nobody should wait for a rule to work that never will."""
    person.write("allstop.toml", "[[approvals.rules]]\nallow = 'make test'\n")

    done = person.try_allstop("config")
    assert done.returncode == 2
    assert done.stderr == (
        "error: allstop.toml:2: approvals.rules[0].allow:"
        " a rule can't allow this command: it can start other programs\n"
    )
    person.write("rules.toml", "[[rules]]\nallow = 'npm'\n")
    assert "allow npm" in check(person, "--rules", "rules.toml", "npm audit")


def test_what_is_no_command_is_said(person):
    for arguments, stdin in ((("--stdin",), "ls"), (("--stdin",), "3"), ((), None)):
        done = person.try_allstop("approvals", "check", *arguments, stdin=stdin)
        assert done.returncode == 2
    assert person.try_allstop("approvals", "check", "--rules", "none", "ls").returncode == 2
