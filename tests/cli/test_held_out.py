"""Held-out checks: the person's own, which no agent sees."""

import pytest

from allstop.app.held_out import HeldOutChecks, digest
from allstop.app.project import Project
from allstop.core.errors import AllstopError
from allstop.core.events import MoveEnded
from allstop.core.moves import ChecksDone
from allstop.settings.problems import SettingsError
from allstop.settings.sources.environment import Environment

MARK = "marzipan-7431"
"""Stands in the held-out check and nowhere else."""

SECOND = "the-work-of-turn-2"

SEARCH = f"""\
turn=$(( $(find . -name 'prompt-*.txt' | wc -l) + 1 ))
cat >"prompt-$turn.txt"
{{ env; cat /proc/self/mountinfo; cat /proc/*/environ /proc/*/cmdline
  find / -maxdepth 6 -path /proc -prune -o -path /sys -prune -o -path /usr -prune -o -print
  grep -r 'mar[z]ipan-[0-9]' "$HOME" . /home /tmp /run /var/tmp
}} >found.txt 2>/dev/null
[ "$turn" = 1 ] && echo wrong >answer.txt || echo {SECOND} >answer.txt
git add -A && git commit -qm work
echo '<promise>COMPLETE</promise>'
"""
CHECK = f"""\
#!/bin/sh
echo "{MARK}: the answer of `pwd` is `cat answer.txt`"
echo {MARK} >left-behind.txt
grep -q {SECOND} answer.txt
"""


def keep_out(person, content=CHECK, **more):
    """Make a folder of the person with a held-out check, and name it in the person's settings."""
    folder = person.home / "kept" / "shop"
    folder.mkdir(parents=True)
    (folder / "check").write_text(content)
    (folder / "check").chmod(0o755)
    lines = [f'{name} = "{value}"' for name, value in {"folder": folder, **more}.items()]
    own = Environment(home=person.home).user_file
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("[[verification.held_out]]\n" + "\n".join(lines) + "\n")
    return folder


def project_of(person):
    return Project(person.repository, Environment(home=person.home))


def test_v8_an_agent_that_searches_for_a_held_out_check_learns_only_that_it_failed(person):
    folder = keep_out(person)
    person.agent(SEARCH)
    person.commit()

    person.allstop("run", "Write the answer.")

    prompt = person.git("show", "main:prompt-2.txt")
    found = person.git("show", "main:found.txt")
    assert person.merged() == ["T1"]
    assert person.git("show", "main:answer.txt") == SECOND
    assert "Held-out checks failed." in prompt
    for seen in (prompt, found):
        assert MARK not in seen
        assert str(folder) not in seen
    assert "left-behind.txt" not in person.git("ls-tree", "-r", "--name-only", "main")


async def test_v8_records_hold_only_the_outcome_and_the_person_reads_the_rest(person):
    folder = keep_out(person)
    person.agent(SEARCH)
    person.commit()

    person.allstop("run", "Write the answer.")

    project = project_of(person)
    gates = [
        record.event.result
        for head in await project.records.heads()
        for record in await project.records.read(head.run)
        if isinstance(record.event, MoveEnded) and isinstance(record.event.result, ChecksDone)
    ]
    logs = [file.read_text() for file in (person.repository / ".allstop" / "held-out").iterdir()]
    receipts = (person.repository / ".allstop" / "receipts").rglob("*.json")
    project.close()
    assert [[(r.name, r.run, r.passed) for r in gate.results] for gate in gates[:2]] == [
        [("Held-out checks", "", False)],
        [("Held-out checks", "", True)],
    ]
    for text in (*(file.read_text() for file in receipts), person.allstop("log", "T1", "--json")):
        assert MARK not in text
        assert str(folder) not in text
    assert any(MARK in log for log in logs)


def test_v8_the_repositorys_file_can_name_no_held_out_checks(person):
    (person.repository / "allstop.toml").write_text('[verification]\nheld_out = ["true"]\n')

    with pytest.raises(SettingsError) as refused:
        _ = project_of(person).settings

    assert "verification.held_out" in str(refused.value)
    assert "agents read that file" in str(refused.value)


def test_v8_a_folder_that_agents_can_read_is_refused(person):
    keep_out(person)
    own = Environment(home=person.home).user_file
    shown = f'[sandbox]\nread = ["{person.home}/kept"]\n'
    own.write_text(own.read_text() + shown)

    with pytest.raises(AllstopError) as refused:
        HeldOutChecks(project_of(person)).checks()

    assert refused.value.code == "held_out_visible"


def test_v8_held_out_checks_can_be_for_one_repository(person):
    keep_out(person, repository=person.repository)
    here = digest(project_of(person))
    own = Environment(home=person.home).user_file
    own.write_text(own.read_text().replace(str(person.repository), "~/elsewhere"))

    assert here
    assert not digest(project_of(person))
    assert HeldOutChecks(project_of(person)).checks() == []


def test_v8_a_folder_says_by_its_content_how_it_is_run(person):
    folder = keep_out(person)

    def command():
        return HeldOutChecks(project_of(person)).checks()[0].run

    assert command() == '"$HELD_OUT/check"'
    (folder / "check").unlink()
    with pytest.raises(AllstopError, match="neither a program named check nor tests"):
        command()
    (folder / "a b.test.mjs").write_text("")
    assert command() == "node --test \"$HELD_OUT\"/'a b.test.mjs'"
    (folder / "test_a.py").write_text("")
    assert "pytest" in command()
