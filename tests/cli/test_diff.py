"""What work changes, shown before it is approved."""

WORKS = """
cat >/dev/null
date >>b.txt
echo '<promise>COMPLETE</promise>'
"""


def test_b21_a_person_can_see_what_work_changes_before_it_is_approved(person):
    person.agent(
        WORKS, settings='[[verification.commands]]\nname = "There"\nrun = "test -s b.txt"\n'
    )
    said = person.allstop("run", "add a line", code=3)

    waits = person.allstop("diff", "T1")
    shown = person.allstop("show", "T1")
    person.allstop("approve", "T1")

    assert "See the changes: allstop diff ID" in said
    assert waits.startswith("added    b.txt  +1 -0\n\ndiff --git a/b.txt b/b.txt\n")
    assert "check        ✓ There\nchanges      allstop diff T1\n" in shown
    assert person.allstop("diff", "T1") == waits
    assert person.allstop("diff", "T1", "--stat") == "added    b.txt  +1 -0\n"
    files = [{"path": "b.txt", "change": "added", "added": 1, "removed": 0}]
    assert person.json("diff", "T1")["files"] == files


def test_what_a_change_holds_cannot_fool_the_terminal_it_is_shown_on(person):
    person.agent(r"cat >/dev/null; printf '\033[2Jx\nb\342\200\256c\n' >b.txt; echo '<promise>COMPLETE</promise>'", settings="")  # fmt: skip
    person.allstop("run", "be evil", code=3)

    shown, code = person.at_terminal("diff", "T1")

    assert (code, "\x1b[2J" in shown, "\u202e" in shown) == (0, False, False)
    assert "\x1b[32m+b<U+202E>c\x1b[0m" in shown
    person.variables["NO_COLOR"] = "1"
    assert "\x1b" not in person.at_terminal("diff", "T1")[0]


def test_a_file_takes_one_line_whatever_its_name_is(person):
    person.agent(r"""printf x >"$(printf 'a\nremoved  a.txt')"; echo '<promise>COMPLETE</promise>'""", settings="")  # fmt: skip
    person.allstop("run", "be evil", code=3)

    assert person.allstop("diff", "T1", "--stat") == "added    a\\nremoved  a.txt  +1 -0\n"


def test_a_task_without_work_has_nothing_to_show(person):
    person.allstop("add", "later")

    assert "T1 has no work yet" in person.refuses("diff", "T1")
    assert "there is no task 'T2'" in person.refuses("diff", "T2")


def test_b21_approve_without_a_name_says_what_waits(person):
    assert "no task waits for review" in person.refuses("approve")
    person.agent(WORKS, settings="")
    person.allstop("run", "add a line", code=3)

    assert person.refuses("approve").endswith("hint: allstop approve T1\n")


THREAD = """
[agents.coder]
driver = "scripted"
script = "coder.toml"

[auto]
cooldown_s = 0
review = "never"
"""
CODER = """
[[turn]]
steps = [{ write = "b.txt", text = "b\\n" }, { signal = "PENDING: more of it?" }]
[[turn]]
steps = [{ signal = "COMPLETE" }]
"""


def test_f10_what_a_thread_changes_can_be_seen_before_and_after_its_merge(person):
    """F10: in the terminal as on the page."""
    person.write("allstop.toml", THREAD)
    person.write("coder.toml", CODER)
    person.git("add", "-A")
    person.git("commit", "-qm", "settings")
    person.allstop("trust", "--yes")
    person.allstop("auto", "Write it", code=3)

    waits = person.allstop("diff", "auto1")
    person.allstop("tell", "auto1", "No.")
    person.allstop("resume", "auto1")

    assert waits.startswith("added    b.txt  +1 -0\n\ndiff --git a/b.txt b/b.txt\n")
    assert person.allstop("diff", "auto1") == waits


def test_b16_who_looks_at_a_task_sees_what_its_gate_found(person):
    """B16: deleted tests and protected files are shown where a person decides."""
    person.agent(
        "cat >/dev/null; git rm -q tests/test_a.py; echo '<promise>COMPLETE</promise>'",
        settings='[verification]\ncommands = ["true"]\nprotected = ["tests/**"]\n',
    )
    person.write("tests/test_a.py", "def test_a(): pass\n")
    person.commit()

    said = person.allstop("run", "do it", code=3)

    assert "see the findings: allstop show ID" in said
    found = "finding      ! deleted test tests/test_a.py\n"
    assert f"{found}finding      ! protected tests/test_a.py: deleted\n" in person.allstop(
        "show", "T1"
    )
    assert [each["kind"] for each in person.task("T1")["findings"]] == ["deleted_test", "protected"]
