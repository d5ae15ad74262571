"""What a board is opened with, and what people are told before it works."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from allstop.adapters.git.repository.repository import Repository
from allstop.app import target_gate
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.board import board_spec, hook_files
from allstop.app.project import Project
from allstop.app.settings_in_git import Branches
from allstop.core.board_specs import AgentTerms, BoardSpec, Mode, ReviewMode, ReviewRule
from allstop.core.brakes import AtLimit, Limits
from allstop.core.errors import AllstopError
from allstop.core.gate import Check, Gate, Integrity
from allstop.core.ids import AgentName
from allstop.core.retries import Backoff
from allstop.settings.model.tasks import PROTECTED
from allstop.settings.sources.environment import Environment

AGENT = '[agents.a]\ndriver = "command"\ncommand = ["my-agent"]\n'
CHECK = '[[verification.commands]]\nname = "Tests"\nrun = "make test"\n'


@pytest.fixture
def project(person):
    def project(text, **flags):
        person.write("allstop.toml", text)
        person.git("add", "-A")
        person.git("commit", "-q", "--allow-empty", "-m", "settings")
        person.git("branch", "--force", "trunk")
        environment = Environment(home=person.home, variables=person.environment)
        return Project(person.repository, environment, flags)

    return project


def test_b9_b12_b14_b21_a_board_has_the_defaults_of_the_settings(project):
    assert board_spec.board_spec(project(AGENT + CHECK)) == BoardSpec(
        target="main",
        agents=(AgentName("a"),),
        fallbacks=(),
        terms={AgentName("a"): AgentTerms()},
        mode=Mode.AUTOPILOT,
        slots=2,
        gate=Gate(
            checks=(Check(name="Tests", run="make test"),),
            protected=PROTECTED,
            integrity=Integrity.ASK,
        ),
        merge=True,
        batch=8,
        conflicts=2,
        review=ReviewMode.BATCH,
        errors=3,
        iterations=50,
        attempt_s=1800.0,
        stuck_after=5,
        no_progress=3,
        backoff=Backoff(),
        limit_s=86_400.0,
        recover_primary=True,
        ask_s=600.0,
        retries_first=False,
        own=(),
        limits=Limits(at_limit=AtLimit.PAUSE),
    )


EVERYTHING = """\
[project]
target = "trunk"

[agents.a]
driver = "command"
command = ["my-agent"]
done = "exit"
timeout_minutes = 5
idle_seconds = 60
max_tokens_per_call = 9000

[agents.b]
driver = "scripted"
script = "b.toml"

[loop]
agent = "a"
fallback = "b"
mode = "semi"
max_parallel = 4
max_iterations = 9
timeout_minutes = 10
stuck_threshold = 2
max_consecutive_errors = 7

[verification]
default_timeout = 20
keep_going = true
protected = ["tests/**"]
protection = "restore"
commands = ["make test", {name = "Lint", run = "make lint", timeout = 5, required = false}]

[merge]
enabled = false
max_conflict_attempts = 1

[review]
mode = "auto"
[review.rules]
security = "per-task"
docs = "skip"

[retry]
base_ms = 500
factor = 3
jitter = 0
max_retries = 5
max_rate_limit_hours = 0.5

[budget]
turns = 20
cost_usd = 5
at_limit = "stop"
[budget.task]
turns = 30
tokens = 1000
cost_usd = 2.5
minutes = 2
"""


def test_b14_b16_b21_k5_every_setting_reaches_the_board(project):
    assert board_spec.board_spec(project(EVERYTHING), agents=(AgentName("b"),)) == BoardSpec(
        target="trunk",
        agents=(AgentName("b"),),
        fallbacks=(),
        terms={
            AgentName("a"): AgentTerms(
                done="exit", turn_s=300.0, idle_s=60.0, max_tokens=9000, attempt_s=300.0
            ),
            AgentName("b"): AgentTerms(turn_s=600.0, idle_s=600.0),
        },
        mode=Mode.SEMI,
        slots=4,
        gate=Gate(
            checks=(
                Check(name="make test", run="make test", timeout_s=20.0),
                Check(name="Lint", run="make lint", timeout_s=5.0, required=False),
            ),
            keep_going=True,
            protected=("tests/**",),
            integrity=Integrity.ASK,
        ),
        merge=False,
        batch=8,
        conflicts=1,
        review=ReviewMode.AUTO,
        review_rules=(
            ReviewRule(tag="security", mode=ReviewMode.PER_TASK),
            ReviewRule(tag="docs", mode=ReviewMode.SKIP),
        ),
        errors=7,
        iterations=9,
        attempt_s=600.0,
        stuck_after=2,
        no_progress=3,
        backoff=Backoff(first_s=0.5, factor=3.0, jitter=0.0, retries=5),
        limit_s=1800.0,
        recover_primary=True,
        ask_s=600.0,
        retries_first=False,
        own=("agents",),
        limits=Limits(turns=20, cost_microusd=5_000_000, at_limit=AtLimit.STOP),
        task_limits=Limits(turns=30, tokens=1000, cost_microusd=2_500_000, time_s=120.0),
    )


def test_s1_what_a_person_says_for_this_time_wins(project):
    until = datetime(2030, 1, 1, 7, tzinfo=UTC)

    spec = board_spec.board_spec(
        project(EVERYTHING), mode=Mode.AUTOPILOT, slots=1, count=3, until=until
    )

    assert (spec.mode, spec.slots, spec.count, spec.until) == (Mode.AUTOPILOT, 1, 3, until)
    assert spec.agents == ("a", "b")


def test_k19_the_gate_is_the_target_branchs(project, person):
    home = project(AGENT + CHECK)

    person.write("allstop.toml", AGENT + CHECK.replace("make test", "true"))

    assert [check.run for check in target_gate.gate(home.settings).checks] == ["make test"]
    assert board_spec.start_note_texts(home) == [
        "allstop.toml has changes that aren't on main: they don't apply yet."
    ]


async def test_k19_b22_the_targets_file_is_read_again_only_where_it_is_another(
    project, person, monkeypatch
):
    """K19, B22: it is asked for each clone and each check, and mostly it is the same."""
    blob, reads, notes = Branches.blob, [], []
    monkeypatch.setattr(Branches, "blob", lambda *of: reads.append(of[2]) or blob(*of))
    repository = Repository(person.repository)
    file = target_gate.TargetFile(project(AGENT + CHECK), repository, notes.append)

    async def runs():
        return [check.run for check in (await file.gate("main")).checks]

    found = [await runs(), await runs()]
    clone_setup = await file.clone_setup("main")
    person.write("allstop.toml", AGENT + CHECK.replace("make test", "true"))
    found.append(await runs())
    person.git("commit", "-q", "-am", "another gate")
    found.append(await runs())
    person.git("rm", "-q", "allstop.toml")
    person.git("commit", "-q", "-m", "none")
    found.append(await runs())
    repository.close()

    assert found == [["make test"], ["make test"], ["make test"], ["true"], []]
    assert (clone_setup.setup, notes) == ("", [])
    assert reads == ["main", "main"]


async def test_k19_what_is_read_is_the_file_that_git_named(project, person, monkeypatch):
    """K19: also where the branch goes elsewhere and comes back while it is being read."""
    repository, blob = Repository(person.repository), Branches.blob
    file = target_gate.TargetFile(project(AGENT + CHECK), repository, lambda note: None)

    def moving(branches, name, branch):
        person.write("allstop.toml", AGENT + CHECK.replace("make test", "true"))
        person.git("commit", "-q", "-am", "a weak gate")
        try:
            return blob(branches, name, branch)
        finally:
            person.git("reset", "-q", "--hard", "HEAD~1")

    monkeypatch.setattr(Branches, "blob", moving)
    gates = [await file.gate("main"), await file.gate("main")]
    repository.close()

    assert [[check.run for check in gate.checks] for gate in gates] == [["make test"]] * 2


async def test_k19_a_branch_whose_file_is_broken_keeps_its_own_last_gate(project, person):
    """K19: tasks that were begun from another branch may be at work beside those of the target."""
    repository, notes = Repository(person.repository), []
    file = target_gate.TargetFile(project(AGENT + CHECK), repository, notes.append)

    async def runs(branch):
        found = await file.gate(branch)
        return found and [check.run for check in found.checks]

    found = [await runs("main")]
    person.git("switch", "-q", "-c", "weak")
    person.write("allstop.toml", AGENT + CHECK.replace("make test", "true"))
    person.git("commit", "-q", "-am", "another gate")
    found.append(await runs("weak"))
    person.write("allstop.toml", "broken")
    person.git("commit", "-q", "-am", "broken")
    person.git("branch", "-f", "main", "weak")
    found += [await runs("main"), await runs("weak"), await runs("main")]
    repository.close()

    assert found == [["make test"], ["true"], ["make test"], ["true"], ["make test"]]
    assert len(notes) == 2


def test_a_board_without_agents_can_be_made_by_name_only(project):
    home = project(CHECK)

    with pytest.raises(AgentSetupError, match="no agent is configured"):
        board_spec.board_spec(home)

    assert board_spec.board_spec(home, agents=()).agents == ()


def test_b15_no_commands_pass_with_the_documents_warning(project, person):
    person.write("Makefile", "test:\n\ttrue\n")
    home = project(AGENT)

    (note,) = board_spec.start_notes(home)

    assert target_gate.gate(home.settings).checks == ()
    assert (note.code, note.indicator) == ("VERIFICATION_EMPTY", "No verification configured")
    assert (
        note.text
        == """\
Warning: No verification commands configured

Tasks will complete on COMPLETE signal without validation.
Consider adding verification commands to ensure code quality.

Suggestion: Add to allstop.toml:
  [verification]
  commands = ["make test"]"""
    )
    assert board_spec.start_note_texts(home) == [note.text]


def test_b15_there_is_nothing_to_say_where_there_are_commands(project):
    assert board_spec.start_note_texts(project(AGENT + CHECK)) == []


def test_b15_a_gate_that_is_required_must_not_be_empty(project):
    home = project(AGENT + "[verification]\nrequired = true\n")

    with pytest.raises(AllstopError) as refused:
        board_spec.board_spec(home)

    assert refused.value.message == (
        "no verification commands are configured, and [verification] required = true"
    )


def test_b15_a_required_gate_with_commands_is_a_gate(project):
    home = project(AGENT + CHECK + "[verification]\nrequired = true\n")

    assert len(target_gate.gate(home.settings).checks) == 1


def test_b5_a_board_at_work_keeps_what_was_chosen_for_it_when_the_settings_change(project):
    """B5 and 6-interfaces: all else is as the settings have it by then."""
    later = datetime(2030, 1, 1, tzinfo=UTC)
    before = board_spec.board_spec(
        project(AGENT), mode=Mode.SEMI, slots=3, count=4, until=later, agents=(AgentName("b"),)
    )
    changed = project(
        AGENT + '[loop]\nmax_parallel = 7\nmode = "autopilot"\n[merge]\nenabled = false'
    )

    after = board_spec.with_current_settings(changed, before)

    assert after == replace(before, merge=False)
    assert board_spec.with_current_settings(
        changed, board_spec.board_spec(project(AGENT), count=4)
    ) == replace(
        before,
        merge=False,
        batch=8,
        mode=Mode.AUTOPILOT,
        slots=7,
        until=None,
        agents=(AgentName("a"),),
        own=(),
    )


def test_b5_a_mode_that_is_set_while_it_works_is_chosen_too():
    assert BoardSpec(target="main", own=()).in_mode(Mode.SEMI) == BoardSpec(
        target="main", mode=Mode.SEMI, own=("mode",)
    )


def test_b17_a_board_at_work_stays_with_its_branch_where_the_settings_name_none(project, person):
    spec = board_spec.board_spec(project(AGENT))
    person.git("checkout", "-q", "-b", "elsewhere")
    elsewhere = board_spec.with_current_settings(project(AGENT), spec).target
    person.git("checkout", "-q", "--detach")

    assert (elsewhere, board_spec.with_current_settings(project(AGENT), spec).target) == (
        "main",
        "main",
    )
    named = project(AGENT + '[project]\ntarget = "elsewhere"\n')
    assert board_spec.with_current_settings(named, spec).target == "elsewhere"


def test_b22_only_hooks_in_force_are_run(project, person):
    asked = AGENT + '[hooks]\npost_merge = "theirs"\n'
    own = Path(person.home, ".config", "allstop", "config.toml")
    own.parent.mkdir(parents=True)
    own.write_text('[hooks]\non_error = "mine"\n')

    before = hook_files.hooks(project(asked))
    person.allstop("trust", "--yes")

    assert before == {"on_error": "mine"}
    assert hook_files.hooks(project(asked)) == {"on_error": "mine", "post_merge": "theirs"}
