"""Mutants of a task's changes, tried by the real gate."""

AGENT = """\
cat >shop.py <<'END'
def total(a, b):
    return a + b


def twice(a):
    return a * 2
END
cat >test_shop.py <<'END'
import unittest

from shop import total, twice


class ShopTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(1, 2), 3)

    def test_twice(self):
        twice(1)
END
git add -A && git commit -qm work
echo '<promise>COMPLETE</promise>'
"""
SETTINGS = """\
[review]
mode = "batch"
[verification]
mutation = true
commands = ["python3 -m unittest -q"]
"""


def test_v7_a_task_shows_which_broken_lines_no_test_noticed(person):
    person.agent(AGENT, settings=SETTINGS)
    person.commit()

    person.allstop("run", "Write a shop.", code=3)

    findings = person.task("T1")["findings"]
    survivors = [each["text"] for each in findings if each["kind"] == "survivor"]
    assert survivors == ["line 6: a * 2 → None", "line 6: * → +", "line 6: 2 → 3"]
    assert "mutants tried, 3 noticed by no test" in person.allstop("log", "T1")
