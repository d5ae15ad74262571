"""S1, S6, K5: a sprint from a request and the settings, and why one is refused."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from allstop.app.board.sprints import sprint_limits, sprint_spec
from allstop.app.project import Project
from allstop.app.start_requests import SprintFilters, SprintTarget, StartSprint
from allstop.board.board_pilot import BoardPilot
from allstop.core.board_specs import Target, TargetKind
from allstop.core.commands import AddTasks
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded
from allstop.core.tasks import NewTask
from allstop.settings.sources.environment import Environment

PILOT = BoardPilot()
NOW = datetime(2026, 3, 28, 21, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
TASKS = (
    NewTask(id="a", title="a", operation="Pay", tags=("api",)),
    NewTask(id="b", title="b", done=True, tags=("web",)),
)


@pytest.fixture
def project_with(tmp_path):
    """A folder with these settings."""

    def make(settings):
        (tmp_path / "allstop.toml").write_text(settings)
        return Project(tmp_path, Environment(home=tmp_path / "home", variables={}))

    return make


@pytest.fixture
def asked(project_with):
    """The sprint that a request makes, with settings as text."""

    def make(settings="", **request):
        project = project_with(settings)
        begun = PILOT.begin({"target": "main"})
        state = PILOT.evolve(begun, Commanded(at=NOW, command=AddTasks(tasks=TASKS)))
        return sprint_spec(project, StartSprint(**request), state, NOW, BERLIN)

    return make


def target(type_, value=None):
    return SprintTarget(type=TargetKind(type_), value=value)


def test_s1_what_a_request_leaves_out_follows_the_settings(asked):
    settings = (
        "[sprint]\npause_on_error = true\ncheckpoint_before = false\nbatch_review = true\n"
        'target = { type = "count", value = 3 }\n[sprint.filters]\ninclude_tags = ["api"]\n'
    )

    spec = asked(settings)
    other = asked(settings, pause_on_error=False, target=target("no_ready"))

    assert (spec.target, spec.filters.include_tags) == (
        Target(type=TargetKind.COUNT, value=3),
        ("api",),
    )
    assert (spec.pause_on_error, spec.checkpoint_before, spec.batch_review) == (True, False, True)
    assert (other.pause_on_error, other.target.type) == (False, TargetKind.NO_READY)
    assert asked().checkpoint_before
    assert asked().batch_review is None


@pytest.mark.parametrize(
    ("wanted", "ends_at"),
    [
        (target("count", 2), None),
        (target("no_ready"), None),
        (target("duration", 1.5), NOW + timedelta(hours=1.5)),
        (target("until_time", "07:00"), datetime(2026, 3, 29, 5, tzinfo=UTC)),  # in summer time
        (target("until_time", "2026-04-01T09:00"), datetime(2026, 4, 1, 7, tzinfo=UTC)),
        (target("until_time", "2026-04-01T09:00Z"), datetime(2026, 4, 1, 9, tzinfo=UTC)),
    ],
)
def test_s6_a_target_is_kept_as_given_with_the_moment_of_its_end(asked, wanted, ends_at):
    spec = asked(target=wanted)

    assert (spec.target.type, spec.target.value) == (wanted.type, wanted.value)
    assert spec.ends_at == ends_at


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"target": target("count", True)}, "sprint_target_invalid"),
        ({"target": target("count", 2.5)}, "sprint_target_invalid"),
        ({"target": target("count", 10**10)}, "sprint_target_invalid"),
        ({"target": target("duration", float("nan"))}, "sprint_target_invalid"),
        ({"target": target("duration", -1)}, "sprint_target_invalid"),
        ({"target": target("duration", 9000)}, "sprint_target_invalid"),
        ({"target": target("until_time", 7)}, "sprint_target_invalid"),
        ({"target": target("until_time", "9999-12-31T23:59:59-23:59")}, "sprint_target_invalid"),
        ({"target": target("until_time", "2026-03-28T21:59")}, "sprint_target_past"),
        ({"filters": SprintFilters(include_tags=("web",))}, "sprint_matches_nothing"),
        ({"filters": SprintFilters(exclude_operations=("Pay",))}, "sprint_matches_nothing"),
        ({"filters": SprintFilters(include_operations=("\x1b[31m",))}, "operation_unknown"),
    ],
)
def test_s6_what_can_not_be_a_sprint_is_refused(asked, request_, code):
    with pytest.raises(AllstopError) as refused:
        asked(**request_)

    assert refused.value.code == code
    assert "\x1b" not in refused.value.message


def test_k5_a_time_limit_that_stops_a_sprint_is_a_part_of_its_target(asked, project_with):
    settings = '[budget]\nat_limit = "stop"\n[budget.sprint]\nminutes = 30\nturns = 5\n'

    assert asked(settings).ends_at == NOW + timedelta(minutes=30)
    assert asked(settings, target=target("duration", 0.25)).ends_at == NOW + timedelta(minutes=15)
    limits = sprint_limits(project_with(settings), StartSprint(budget_usd=2))
    assert (limits.turns, limits.time_s, limits.cost_microusd) == (5, None, 2_000_000)
