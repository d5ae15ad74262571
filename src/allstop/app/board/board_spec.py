"""The board's spec by the settings, and notes that people should read before it starts."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from msgspec import Struct

from allstop.app import held_out, runtime
from allstop.app.agents import registry
from allstop.app.agents.token_caps import describe_budgets
from allstop.app.board import hook_files
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
    """A note for people before work starts."""

    text: str
    code: str = ""
    indicator: str = ""  # a short form that stays visible


def board_spec(
    project: Project,
    *,
    mode: Mode | None = None,
    slots: int | None = None,
    count: int | None = None,
    until: datetime | None = None,
    agents: tuple[AgentName, ...] | None = None,
    target: str | None = None,
    only: Collection[str] | None = None,
) -> BoardSpec:
    """The spec by the arguments, and by the settings for all others.

    With `only`, the board acts on these tasks and on those that later commands name.

    Raises AllstopError if the settings lack an agent, a branch or a required check.
    """
    settings = project.settings
    loop = settings.loop
    return BoardSpec(
        target=target or runtime.target(project),
        agents=registry.task_agents(project) if agents is None else agents,
        fallbacks=() if agents is not None else tuple(map(AgentName, fallbacks(settings))),
        terms={
            AgentName(name): agent_terms(project, agent) for name, agent in settings.agents.items()
        },
        mode=mode or loop.mode,
        slots=slots or loop.max_parallel,
        gate=gate(settings, held_out.digest(project)),
        merge=settings.merge.enabled,
        batch=settings.merge.max_batch,
        conflicts=settings.merge.max_conflict_attempts,
        review=settings.review.mode,
        review_rules=tuple(
            ReviewRule(tag=tag, mode=rule) for tag, rule in settings.review.rules.items()
        ),
        second=_second(project),
        second_rounds=settings.review.second_rounds,
        errors=loop.max_consecutive_errors,
        iterations=loop.max_iterations,
        attempt_s=60.0 * loop.timeout_minutes,
        stuck_after=loop.stuck_threshold,
        no_progress=loop.no_progress_turns,
        compact_at=loop.compact_at_tokens or None,
        backoff=backoff(project),
        limit_retries=limit_patience(project).guesses,
        limit_s=limit_patience(project).most_s,
        recover_primary=settings.retry.recover_primary,
        limits=budget_limits.run_limits(project),
        task_limits=budget_limits.task_limits(project),
        count=count,
        until=until,
        ask_s=float(settings.auto.approval_timeout_s),
        retries_first=False,
        only=None if only is None else tuple(only),
        own=_set_by_person(mode=mode, slots=slots, agents=agents),
    )


def _second(project: Project) -> AgentName | None:
    """The agent that reviews work; it must be able to work in a clone."""
    second = project.settings.review.second
    return registry.task_agents(project, second)[0] if second else None


def _set_by_person(**choices: object) -> tuple[PersonsSetting, ...]:
    own: tuple[PersonsSetting, ...] = get_args(PersonsSetting)
    return tuple(name for name in own if choices[name] is not None)


def with_current_settings(project: Project, spec: BoardSpec) -> BoardSpec:
    """The spec by the current settings, with the choices a person made for the running board.

    If the settings name no branch, the board keeps its own: another branch may be checked out
    only to look at it.

    Raises AllstopError if the settings lack an agent, a branch or a required check.
    """
    return board_spec(
        project,
        mode=spec.mode if "mode" in spec.own else None,
        slots=spec.slots if "slots" in spec.own else None,
        count=spec.count,
        until=spec.until,
        agents=spec.agents if "agents" in spec.own else None,
        target=None if project.settings.project.target else spec.target,
        only=spec.only,
    )


def agent_terms(project: Project, agent: Agent) -> AgentTerms:
    loop = project.settings.loop
    return AgentTerms(
        done=agent.done.value,
        turn_s=60.0 * (agent.timeout_minutes or loop.timeout_minutes),
        attempt_s=60.0 * agent.timeout_minutes if agent.timeout_minutes else None,
        idle_s=float(agent.idle_seconds or loop.idle_seconds),
        max_tokens=agent.max_tokens_per_call,
        account=agent.account or next(iter(agent.accounts), ""),
    )


def backoff(project: Project) -> Backoff:
    retry = project.settings.retry
    return Backoff(
        first_s=retry.base_ms / 1000,
        factor=float(retry.factor),
        jitter=retry.jitter,
        retries=retry.max_retries,
    )


def limit_patience(project: Project) -> LimitPatience:
    retry = project.settings.retry
    return LimitPatience(
        guesses=retry.max_rate_limit_retries,
        most_s=3600.0 * retry.max_rate_limit_hours,
        recover=retry.recover_primary,
    )


def thread_limits(project: Project) -> Limits:
    """A Full Auto thread is both a run and a task, so the lower of both limits applies."""
    return tighter(budget_limits.run_limits(project), budget_limits.task_limits(project))


def start_notes(project: Project) -> list[Note]:
    """The notes, most important first."""
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
    budgets = (budget_limits.run_limits, budget_limits.task_limits, budget_limits.day_limits)
    if any(limits_spending(limits(project)) for limits in budgets):
        found.append(Note(text=f"Budgets of tokens and cost {describe_budgets(project)}."))
    found += [Note(text=each) for each in hook_files.notes(project)]
    found += [Note(text=each) for each in channels.notes(project)]
    return found


def start_note_texts(project: Project) -> list[str]:
    return [note.text for note in start_notes(project)]
