"""What a board is opened with, from the settings; and what people should know before it works."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, get_args

from msgspec import Struct
from msgspec.structs import asdict

from allstop.app import runtime
from allstop.app.agents import registry
from allstop.app.agents.token_caps import budgets_hold
from allstop.app.notify import channels
from allstop.app.runs import budget_limits
from allstop.app.target_gate import gate
from allstop.board.attempt_limits import tighter
from allstop.core.board_specs import (
    AgentTerms,
    BoardSpec,
    Mode,
    PersonsSetting,
    ReviewRule,
)
from allstop.core.brakes import Limits, limits_spending
from allstop.core.ids import AgentName
from allstop.core.retries import Backoff, LimitPatience
from allstop.settings.agent_order import fallbacks
from allstop.settings.detection import missing_checks
from allstop.settings.detection.detect import detect

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model import Agent

VERIFICATION_EMPTY = missing_checks.CODE


class Note(Struct, frozen=True, kw_only=True):
    """Something people should know."""

    text: str
    code: str = ""
    indicator: str = ""  # the short form, for a place that stays in sight


def board_spec(
    project: Project,
    *,
    mode: Mode | None = None,
    slots: int | None = None,
    count: int | None = None,
    until: datetime | None = None,
    agents: tuple[AgentName, ...] | None = None,
    target: str | None = None,
) -> BoardSpec:
    """What isn't given is what the settings say.

    Raises:
        AllstopError: the settings demand what they don't name: an agent, a branch, a check.
    """
    settings = project.settings
    loop = settings.loop
    return BoardSpec(
        target=target or runtime.target(project),
        agents=registry.chosen(project) if agents is None else agents,
        fallbacks=() if agents is not None else tuple(map(AgentName, fallbacks(settings))),
        terms={AgentName(name): terms(project, agent) for name, agent in settings.agents.items()},
        mode=mode or loop.mode,
        slots=slots or loop.max_parallel,
        gate=gate(settings),
        merge=settings.merge.enabled,
        conflicts=settings.merge.max_conflict_attempts,
        review=settings.review.mode,
        review_rules=tuple(
            ReviewRule(tag=tag, mode=rule) for tag, rule in settings.review.rules.items()
        ),
        errors=loop.max_consecutive_errors,
        iterations=loop.max_iterations,
        attempt_s=60.0 * loop.timeout_minutes,
        stuck_after=loop.stuck_threshold,
        backoff=backoff(project),
        limit_retries=endurance(project).guesses,
        limit_s=endurance(project).most_s,
        limits=budget_limits.of_run(project),
        task_limits=budget_limits.of_task(project),
        count=count,
        until=until,
        retries_first=False,
        own=_given(mode=mode, slots=slots, agents=agents),
    )


def _given(**choices: object) -> tuple[PersonsSetting, ...]:
    own: tuple[PersonsSetting, ...] = get_args(PersonsSetting)
    return tuple(name for name in own if choices[name] is not None)


def renewed(project: Project, spec: BoardSpec) -> BoardSpec:
    """As the settings have it by now; what a person chose for the board at work stays.

    So does its branch where they name none: to look at another one is not to work for it.

    Raises:
        AllstopError: as above.
    """
    return board_spec(
        project,
        mode=spec.mode if "mode" in spec.own else None,
        slots=spec.slots if "slots" in spec.own else None,
        count=spec.count,
        until=spec.until,
        agents=spec.agents if "agents" in spec.own else None,
        target=None if project.settings.project.target else spec.target,
    )


def terms(project: Project, agent: Agent) -> AgentTerms:
    loop = project.settings.loop
    return AgentTerms(
        done=agent.done.value,
        turn_s=60.0 * (agent.timeout_minutes or loop.timeout_minutes),
        attempt_s=60.0 * agent.timeout_minutes if agent.timeout_minutes else None,
        idle_s=float(agent.idle_seconds or loop.idle_seconds),
        max_tokens=agent.max_tokens_per_call,
        account=agent.account or "",
    )


def backoff(project: Project) -> Backoff:
    retry = project.settings.retry
    return Backoff(
        first_s=retry.base_ms / 1000,
        factor=float(retry.factor),
        jitter=retry.jitter,
        retries=retry.max_retries,
    )


def endurance(project: Project) -> LimitPatience:
    retry = project.settings.retry
    return LimitPatience(
        guesses=retry.max_rate_limit_retries, most_s=3600.0 * retry.max_rate_limit_hours
    )


def thread_limits(project: Project) -> Limits:
    """A thread that is no attempt at a task is one by itself: what is allowed to either holds."""
    return tighter(budget_limits.of_run(project), budget_limits.of_task(project))


def hooks(project: Project) -> dict[str, str]:
    """The commands of [hooks] that are in force, by the hook's name."""
    found = asdict(project.settings.hooks)
    return {name: command for name, command in found.items() if command is not None}


def noted(project: Project) -> list[Note]:
    """In the order they matter."""
    found = [Note(text=each) for each in project.loaded.notes]
    if not project.settings.verification.commands:
        checks = detect(project.repository, project.environment).checks
        found.append(
            Note(
                text=missing_checks.warning(checks),
                code=missing_checks.CODE,
                indicator=missing_checks.INDICATOR,
            )
        )
    if any(
        map(
            limits_spending,
            (
                budget_limits.of_run(project),
                budget_limits.of_task(project),
                budget_limits.of_day(project),
            ),
        )
    ):
        found.append(Note(text=f"Budgets of tokens and cost {budgets_hold(project)}."))
    found += [Note(text=each) for each in channels.notes(project)]
    return found


def notes(project: Project) -> list[str]:
    return [note.text for note in noted(project)]
