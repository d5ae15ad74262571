"""Threads of Full Auto: their spec, starting them, and the rules for replaying decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from allstop.app import runtime, target_gate
from allstop.app.agents.registry import task_agents
from allstop.app.auto import guidance
from allstop.app.board import board_spec
from allstop.app.runs.names import open_under_free_name
from allstop.app.runs.status import record_of
from allstop.auto.guidance import GuideSpec
from allstop.auto.pilot import AutoPilot
from allstop.auto.state import EDITION, AutoSpec, DecisionPolicy, TurnSummary
from allstop.core.asks import NEVER, Rule
from allstop.core.asks import Decision as Verdict
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName, RunId
from allstop.settings.agent_order import fallbacks
from allstop.settings.model import Approvals, GuardedFiles
from allstop.settings.section_file import read_section

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
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
    """The spec of a thread, without its name.

    Raises AllstopError if the settings lack a decision agent, a branch or a check.
    """
    settings = project.settings
    auto = settings.auto
    terms = board_spec.agent_terms(project, settings.agents[agent])
    others = tuple(AgentName(name) for name in fallbacks(settings) if name != agent)
    every = {
        name: board_spec.agent_terms(project, settings.agents[name]) for name in (agent, *others)
    }
    policy = policy or auto.policy
    is_model = policy is DecisionPolicy.MODEL
    named = AgentName(auto.decision_agent) if auto.decision_agent else None
    if is_model and named is None:
        hint = 'set [auto] decision_agent = "NAME", or use --policy rules'
        raise AllstopError("no decision agent is set", hint, code="decision_agent_missing")
    approvals = approvals or auto.approvals
    waits = approvals is Approvals.ASK or (attended and approvals is Approvals.POLICY)
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
        asks_first=waits,
        ask_s=float(auto.approval_timeout_s) if waits else 0.0,
        turn_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        gate=target_gate.gate(settings),
        merge=settings.merge.enabled,
        backoff=board_spec.backoff(project),
        endurance=board_spec.limit_patience(project),
        fallbacks=others,
        terms=every if others else {},
        compact_at=settings.loop.compact_at_tokens or None,
        guide=guidance.guide_spec(project, agent, approvals=approvals, attended=waits),
        edition=EDITION,
        guards_files=auto.guarded_files is GuardedFiles.PAUSE,
    )


class NewThread(NamedTuple):
    """A thread that is ready to open; `open` chooses its name. `agents` take turns in it."""

    agents: tuple[AgentName, ...]
    open: Callable[[LocalEngine], Awaitable[RunId]]


async def prepare_thread(
    project: Project,
    goal: str,
    *,
    agent: str | None,
    policy: DecisionPolicy | None,
    approvals: Approvals | None,
    attended: bool,
) -> NewThread:
    """Raises AllstopError if the goal is empty, or the settings don't allow such a thread."""
    goal = project.secrets.redact_certain(goal.strip())  # not in a command, so redacted here
    if not goal:
        raise AllstopError("the prompt is empty", "say what is to be done", code="prompt_empty")
    spec = auto_spec(
        project,
        goal,
        agent=task_agents(project, agent)[0],
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

        return open_under_free_name(project, "auto", by)

    return NewThread(agents_of(spec), open_)


def agents_of(spec: AutoSpec) -> tuple[AgentName, ...]:
    """All agents that take turns in it."""
    guide = spec.guide or GuideSpec()
    workers = () if guide.rehearses else (spec.agent, *spec.fallbacks)
    found = (*workers, spec.decision_agent, spec.adviser, guide.agent)
    return tuple(dict.fromkeys(name for name in found if name is not None))


def rehearsal(project: Project, *, goal: str, summary: TurnSummary | None) -> AutoSpec:
    """The spec of a run with guidance only: it ends where the agent would take a turn.

    Raises AllstopError if the guidance model or the target branch can't be used.
    """
    auto = project.settings.auto
    return AutoSpec(
        goal=project.secrets.redact_certain(goal),
        agent=NOBODY,
        target=runtime.target(project),
        min_confidence=auto.min_confidence,
        guide=guidance.guide_spec(
            project, None, approvals=auto.approvals, attended=False, rehearses=True
        ),
        summary=summary,
    )


def rules(project: Project, approvals: Approvals | None) -> tuple[Rule, ...]:
    """The run's rules for agents' asks: deny all, ask a person, or leave it to the policy."""
    match approvals or project.settings.auto.approvals:
        case Approvals.NEVER:
            return (Rule(prefix=(), decision=Verdict.DENY, why=NEVER),)
        case Approvals.ASK:
            return (Rule(prefix=(), decision=Verdict.ASK, why="approvals = ask"),)
        case Approvals.POLICY:
            return ()  # the engine's own policy has the rules of the settings


async def auto_records(project: Project, run: str) -> list[RunRecord]:
    """The records of one Full Auto run, or with "all" of all of them.

    Raises AllstopError if the run is of another kind, or there are none.
    """
    if run == "all":
        heads = await project.journal.heads() if project.has_store else []
        names = [head.run for head in heads if head.kind == PILOT.kind]
        if not names:
            raise AllstopError(
                "there is no run of Full Auto here",
                "`allstop auto PROMPT` starts one",
                code="no_auto_runs",
            )
        return [await record_of(project, name) for name in names]
    recorded = await record_of(project, run)
    if recorded.opened.kind != PILOT.kind:
        raise AllstopError(
            f"{run} is a {recorded.opened.kind}",
            "this needs a run of Full Auto",
            code="not_an_auto_run",
        )
    return [recorded]


OVERRIDABLE = (
    "min_confidence",
    "no_progress_turns",
    "repeated_errors",
    "max_compactions",
    "compaction_turns",
)


class RuleOverrides(NamedTuple):
    """The [auto] settings of a file, to replay a run's decisions with."""

    given: dict[str, Any]
    note: str = ""

    def of(self, recorded: RunRecord) -> AutoSpec:
        """The run's spec with the file's settings."""
        return replace(msgspec.convert(recorded.opened.spec, AutoSpec), **self.given)


def read_rule_overrides(file: Path) -> RuleOverrides:
    """Read the rule settings of a file. Raises SettingsError if it is no valid settings file."""
    settings, keys = read_section(file, "auto")
    auto = settings.auto
    given: dict[str, Any] = {name: getattr(auto, name) for name in OVERRIDABLE if name in keys}
    if "review" in keys:
        given["review"] = auto.review
    is_model = auto.policy is DecisionPolicy.MODEL
    note = "a replay asks no model: the rules decide, with these settings" if is_model else ""
    return RuleOverrides(given, note)
