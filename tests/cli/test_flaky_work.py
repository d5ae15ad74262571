"""V11, M2, M3: flaky, quarantined and already failing tests from a task to its merge."""

import pytest

UNBOXED = '[sandbox]\nmode = "off"\n'
CHECKS = """\
[review]
mode = "batch"
[loop]
no_progress_turns = 3
[verification]
commands = ["python3 -m unittest -q"]
"""
TESTS = """\
import pathlib, unittest

class ShopTest(unittest.TestCase):
    def test_once(self):
        mark = pathlib.Path({mark!r})
        was_there = mark.exists()
        mark.unlink(missing_ok=True)
        self.assertFalse(was_there)

    def test_ok(self):
        pass
"""
AGENT = """\
cat >>{prompts}
echo more >>"$(date +%s%N).txt"
echo '<promise>COMPLETE</promise>'
"""
ONCE, OK = "test_shop.py::ShopTest::test_once", "test_shop.py::ShopTest::test_ok"


class Shop:
    """A repository with a test that fails once whenever the file `mark` is there."""

    def __init__(self, person):
        self.person = person
        self.mark, self.prompts = person.home / "mark", person.home / "prompts"
        config = person.home / ".config" / "allstop" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(UNBOXED)
        person.agent(AGENT.format(prompts=self.prompts), settings=CHECKS)
        person.write("test_shop.py", TESTS.format(mark=str(self.mark)))
        person.commit()

    def findings(self, task):
        found = self.person.task(task)["findings"]
        return [(each["kind"], each["test"], each["verdict"]) for each in found]

    def settings(self, line):
        text = (self.person.repository / "allstop.toml").read_text()
        self.person.write("allstop.toml", text + line)
        self.person.commit("settings")


@pytest.fixture
def shop(person):
    return Shop(person)


def test_v11_a_flaky_test_is_a_note_for_the_reviewer_and_unknown_to_the_agent(shop):
    person = shop.person
    shop.mark.touch()

    person.allstop("run", "Add a file.", code=3)

    assert shop.findings("T1") == [("flaky_test", ONCE, "note")]
    assert "which is not known of it" in person.allstop("show", "--review", "T1")
    assert "flaky" not in shop.prompts.read_text()
    assert "when run again" not in shop.prompts.read_text()
    said = person.allstop("flaky")
    assert ONCE in said
    assert "1 failed, 2 passed, both on 1 tree" in said
    assert 'quarantine = ["ID"]' in said

    shop.mark.touch()
    person.allstop("run", "Add another file.", code=3)

    assert "as on 1 other tree" in person.allstop("show", "--review", "T2")


def test_m2_a_merge_whose_test_is_flaky_lands_with_a_green_run_of_its_tree(shop):
    person = shop.person
    person.allstop("add", "Add one file.")
    person.allstop("add", "Add another file.")
    person.allstop("run", code=3)
    person.allstop("approve", "T1")
    shop.mark.touch()

    person.allstop("approve", "T2")

    assert person.merged() == ["T1", "T2"]
    assert not shop.mark.exists()
    [flaky] = person.json("flaky")["tests"]
    assert (flaky["id"], flaky["failed"]) == (ONCE, 1)


def test_v11_quarantine_is_the_person_s_and_shown_in_the_list(shop):
    person = shop.person
    broken = TESTS.format(mark=str(shop.mark)).replace("pass\n", "self.assertTrue(False)\n")
    person.write("test_shop.py", broken)
    shop.settings(f'quarantine = ["{OK}", "test_shop.py::ShopTest::test_gone"]\n')

    person.allstop("run", "Add a file.", code=3)

    assert person.tasks() == {"T1": "review"}
    assert shop.findings("T1") == [("quarantined_test", OK, "note")]
    person.allstop("approve", "T1")
    assert person.merged() == ["T1"]
    said = person.allstop("flaky")
    assert (
        "! test_shop.py::ShopTest::test_gone is quarantined, but no check has reported it" in said
    )


def test_v11_a_test_that_is_red_on_the_target_blocks_and_holds_the_board(shop):
    """B24: no work can pass it, so nobody is blamed, and a person is called."""
    person = shop.person
    broken = TESTS.format(mark=str(shop.mark)).replace("pass\n", "self.assertTrue(False)\n")
    person.write("test_shop.py", broken)
    person.commit("break a test")

    said = person.allstop("run", "Add a file.", code=1)

    assert person.tasks() == {"T1": "blocked"}
    assert f"fails on main without this work, too: {OK}" in said
    assert (
        f"These tests fail in the same way without your work:\n  {OK}" in shop.prompts.read_text()
    )
    assert "no work can pass" in said

    shop.settings(f'quarantine = ["{OK}"]\n')
    person.allstop("retry", "T1")
    person.allstop("run", code=3)

    assert person.tasks() == {"T1": "review"}


def test_m3_a_merge_onto_a_red_target_waits_and_lands_once_the_target_is_mended(shop):
    person = shop.person
    person.allstop("run", "Add a file.", code=3)
    prompts = shop.prompts.read_text()
    good = (person.repository / "test_shop.py").read_text()
    person.write("test_shop.py", good.replace("pass\n", "self.assertTrue(False)\n"))
    person.commit("break a test")

    said = person.try_allstop("approve", "T1")

    assert person.tasks() == {"T1": "merging"}, said
    assert person.merged() == []
    assert f"fails on main without this work, too: {OK}" in person.task("T1")["note"]
    assert shop.prompts.read_text() == prompts, "its agent is not asked to mend it"

    person.write("test_shop.py", good)
    person.commit("mend the test")
    person.allstop("run")

    assert person.merged() == ["T1"]
