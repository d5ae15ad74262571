"""Full Auto: starting a thread that is kept going, and looking at what was decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from allstop.app import runtime, target_gate
from allstop.app.agents.registry import chosen
from allstop.app.auto import guidance
from allstop.app.board import board_spec
from allstop.app.runs.status import record_of
from allstop.auto.guidance import GuideSpec
from allstop.auto.pilot import AutoPilot
from allstop.auto.state import EDITION, AutoSpec, DecisionPolicy, TurnSummary
from allstop.core.asks import NEVER, Rule
from allstop.core.asks import Decision as Verdict
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName, RunId
from allstop.ports import HeldError
from allstop.settings.model import Approvals, GuardedFiles
from allstop.settings.section_file import read_section

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import Recorded
    from allstop.engine.local import LocalEngine

PILOT = AutoPilot()
NOBODY = AgentName("nobody")


def auto_spec(
    project: Project,
    goal: str,
    *,
    agent: AgentName,
    policy: DecisionPolicy | None = None,
    approvals: Approvals | None = None,
    attended: bool,
) -> AutoSpec:
    """How the settings would have such a thread; its name is not known yet.

    Raises:
        AllstopError: it can't be had.
    """
    settings = project.settings
    auto = settings.auto
    terms = board_spec.terms(project, settings.agents[agent])
    policy = policy or auto.policy
    is_model = policy is DecisionPolicy.MODEL
    named = AgentName(auto.decision_agent) if auto.decision_agent else None
    if is_model and named is None:
        hint = 'set [auto] decision_agent = "NAME", or use --policy rules'
        raise AllstopError("nobody is named who decides", hint)
    approvals = approvals or auto.approvals
    waits = attended and approvals is not Approvals.NEVER
    return AutoSpec(
        goal=goal,
        agent=agent,
        target=runtime.target(project),
        policy=policy,
        decision_agent=named if is_model else None,
        adviser=named if approvals is Approvals.POLICY else None,
        review=auto.review,
        min_confidence=auto.min_confidence,
        no_progress_turns=auto.no_progress_turns,
        repeated_errors=auto.repeated_errors,
        max_compactions=auto.max_compactions,
        compaction_turns=auto.compaction_turns,
        cooldown_s=auto.cooldown_s,
        asks_first=waits or approvals is Approvals.ASK,
        ask_s=float(auto.approval_timeout_s) if waits else 0.0,
        turn_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        gate=target_gate.gate(settings),
        merge=settings.merge.enabled,
        backoff=board_spec.backoff(project),
        endurance=board_spec.endurance(project),
        guide=guidance.guide_spec(project, approvals=approvals, attended=waits),
        edition=EDITION,
        guards_files=auto.guarded_files is GuardedFiles.PAUSE,
    )


class Begun(NamedTuple):
    """A thread that can be opened, which gives it its name, and everybody who takes turns in it."""

    agents: tuple[AgentName, ...]
    open: Callable[[LocalEngine], Awaitable[RunId]]


async def beginning(
    project: Project,
    goal: str,
    *,
    agent: str | None,
    policy: DecisionPolicy | None,
    approvals: Approvals | None,
    attended: bool,
) -> Begun:
    """A new thread, as the settings would have it.

    Raises:
        AllstopError: it can't be had.
    """
    goal = project.secrets.redact_certain(
        goal.strip()
    )  # a person's words, though no command of theirs
    if not goal:
        raise AllstopError("the prompt is empty", "say what is to be done")
    spec = auto_spec(
        project,
        goal,
        agent=chosen(project, agent)[0],
        policy=policy,
        approvals=approvals,
        attended=attended,
    )
    title, limits = goal.splitlines()[0][:80], board_spec.thread_limits(project)

    def open_(engine: LocalEngine) -> Awaitable[RunId]:
        asks = rules(project, approvals)

        def by(name: RunId) -> Awaitable[bool]:
            terms = msgspec.to_builtins(replace(spec, name=name))
            return engine.open(name, "auto", terms, title=title, limits=limits, rules=asks)

        return open_free(project, "auto", by)

    return Begun(agents_of(spec), open_)


def agents_of(spec: AutoSpec) -> tuple[AgentName, ...]:
    """Everybody who takes turns in it."""
    guide = spec.guide or GuideSpec()
    worker = None if guide.rehearses else spec.agent
    found = (worker, spec.decision_agent, spec.adviser, guide.agent)
    return tuple(dict.fromkeys(name for name in found if name is not None))


def rehearsal(project: Project, *, goal: str, summary: TurnSummary | None) -> AutoSpec:
    """Guidance alone: it ends where the agent would begin, or go on.

    Raises:
        AllstopError: it can't be had.
    """
    auto = project.settings.auto
    return AutoSpec(
        goal=project.secrets.redact_certain(goal),
        agent=NOBODY,
        target=runtime.target(project),
        min_confidence=auto.min_confidence,
        guide=guidance.guide_spec(
            project, approvals=auto.approvals, attended=False, rehearses=True
        ),
        summary=summary,
    )


def rules(project: Project, approvals: Approvals | None) -> tuple[Rule, ...]:
    """Who answers an agent that asks: nobody, the policy, or a person. The strictest wins."""
    match approvals or project.settings.auto.approvals:
        case Approvals.NEVER:
            return (Rule(prefix=(), decision=Verdict.DENY, why=NEVER),)
        case Approvals.ASK:
            return (Rule(prefix=(), decision=Verdict.ASK, why="approvals = ask"),)
        case Approvals.POLICY:
            return ()  # the engine's own policy has the rules of the settings


async def open_free(
    project: Project, kind: str, opened: Callable[[RunId], Awaitable[bool]]
) -> RunId:
    """By the first name that is free: another process, or request, may be about to take it."""
    while True:
        name = await _free_name(project, kind)
        with suppress(HeldError):
            if await opened(name):
                return name


async def _free_name(project: Project, kind: str) -> RunId:
    """auto1, auto2 …"""
    taken = {head.run for head in await project.journal.heads()} | set(project.journal.holders())
    number = 1
    while f"{kind}{number}" in taken:
        number += 1
    return RunId(f"{kind}{number}")


async def recorded_autos(project: Project, run: str) -> list[Recorded]:
    """One run of Full Auto, or all of them.

    Raises:
        AllstopError: it is none, or there are none.
    """
    if run == "all":
        heads = await project.journal.heads() if project.has_store else []
        names = [head.run for head in heads if head.kind == PILOT.kind]
        if not names:
            raise AllstopError("there is no run of Full Auto here", "allstop auto PROMPT makes one")
        return [await record_of(project, name) for name in names]
    recorded = await record_of(project, run)
    if recorded.opened.kind != PILOT.kind:
        raise AllstopError(f"{run} is a {recorded.opened.kind}", "this needs a run of Full Auto")
    return [recorded]


OTHER_RULES = (
    "min_confidence",
    "no_progress_turns",
    "repeated_errors",
    "max_compactions",
    "compaction_turns",
)


class OtherRules(NamedTuple):
    """The [auto] settings of a file, in the place of those that a run had."""

    given: dict[str, Any]
    note: str = ""

    def of(self, recorded: Recorded) -> AutoSpec:
        """The run's own terms, with what the file says in their place."""
        return replace(msgspec.convert(recorded.opened.spec, AutoSpec), **self.given)


def other_rules(file: Path) -> OtherRules:
    """What a file says of the rules.

    Raises:
        SettingsError: it is no such file.
    """
    settings, said = read_section(file, "auto")
    auto = settings.auto
    given: dict[str, Any] = {name: getattr(auto, name) for name in OTHER_RULES if name in said}
    if "review" in said:
        given["review"] = auto.review
    is_model = auto.policy is DecisionPolicy.MODEL
    note = "a model is not asked again: the rules decide, with these settings" if is_model else ""
    return OtherRules(given, note)
