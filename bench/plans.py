"""P7, Q3, Q4: plans beside ralph-tui, killed plans, long plans, and the cost of a step.

Prints figures; asserts nothing. npm installs ralph-tui into a temporary folder; a line says if that
fails. Both do the same 50 steps with the same agent: two steps fail once, and one meets a rate limit
of a second. Both wait 0.1 s before a retry. ralph-tui runs without a sandbox and without a clone;
Allstop always has both, and merges at the end.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio
import msgspec

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.app.board import commands
from allstop.core.moves import Change, WorkspaceOpen
from allstop.core.tasks import NewTask
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import PILOTS
from allstop.plans.plan import Phase, Plan, Step
from allstop.plans.state import PlanSpec
from allstop.ports import Box, Workspaces
from common import (
    SMALL,
    adopt_orphans,
    figure,
    print_load,
    project_in,
    repository,
    sized,
    write_settings,
)
from iterations import SILENT
from peers import ALLSTOP, Run, install, watched, without_network, write_prd
from turns import LONG, CountingAgent, NoLauncher, growth

STEPS = sized(50, 3)
KILLS = sized(10, 1)
EARLIEST_S, LATEST_S = 0.3, 1.5  # of a kill, after the program's start
GIVE_UP_S = 120
PATH = "/usr/bin:/bin"
PEER = "ralph-tui"

AGENT = """\
n=$(cat | grep -o 'Write file [0-9]*' | head -1 | grep -o '[0-9]*$')
if [ ! -e .git/tried-$n ]; then
  touch .git/tried-$n
  case $n in
    10 | 20) echo "it broke" >&2; exit 1 ;;
    30) echo "Error: 429 Too Many Requests, retry after 1 second" >&2; exit 1 ;;
  esac
fi
sleep {rest}
echo done >>step-$n.txt
echo "<promise>COMPLETE</promise>"
"""
"""A file for each step, with one line for each time that the step was done to its end."""

RETRIES = "\n[loop]\nno_progress_turns = 0\n\n[retry]\nbase_ms = 100\nfactor = 1\njitter = 0.0\nstep_delay_ms = 0\n"
PEER_RETRIES = '[errorHandling]\nstrategy = "retry"\nmaxRetries = 2\nretryDelayMs = 100\n'


class Work(NamedTuple):
    """What is done at the end."""

    again: int  # steps that the program knew to be done, and did again
    lost: int
    repeated: int = 0  # steps whose agent was killed at work, or after it and before its record


class Program(NamedTuple):
    prepare: Callable[[Path, int, str], None]
    start: Callable[[Path], Sequence[str]]
    resume: Callable[[Path], Sequence[str] | None]  # none: it has to be started again
    done: Callable[[Path], int]  # how many of the steps are done by its own record, in order
    path: Callable[[Path], str]


# --- allstop ----------------------------------------------------------------------------------


def prepare_ours(folder: Path, steps: int, agent: str) -> None:
    repository(folder / "repository", SMALL)
    write_settings(folder / "home", agent, gate="")
    settings = folder / "home" / ".config" / "allstop" / "config.toml"
    settings.write_text(settings.read_text() + RETRIES)
    lines = [f"- Write file {number}" for number in range(1, steps + 1)]
    (folder / "PLAN.md").write_text("# All\n\n" + "\n".join(lines) + "\n")


def ours_done(folder: Path) -> int:
    shown = subprocess.run(
        [ALLSTOP, "plan", "show", "plan1", "--json"],
        cwd=folder / "repository",
        env={"HOME": str(folder / "home"), "PATH": PATH},
        capture_output=True,
        check=False,
    )
    return int(msgspec.json.decode(shown.stdout)["completedSteps"]) if not shown.returncode else 0


OURS = Program(
    prepare=prepare_ours,
    start=lambda folder: (ALLSTOP, "plan", "run", str(folder / "PLAN.md")),
    resume=lambda folder: (
        (ALLSTOP, "plan", "resume", "plan1") if _has_begun(folder, ".allstop") else None
    ),
    done=ours_done,
    path=lambda folder: PATH,
)


def _has_begun(folder: Path, name: str) -> bool:
    """Whether the plan is on record."""
    if name != ".allstop":
        return (folder / "repository" / name).exists()
    listed = subprocess.run(
        [ALLSTOP, "plan", "list"],
        cwd=folder / "repository",
        env={"HOME": str(folder / "home"), "PATH": PATH},
        capture_output=True,
        check=False,
    )
    return b"plan1" in listed.stdout


# --- ralph-tui --------------------------------------------------------------------------------


def ralph(programs: Path) -> Program:
    own = (str(programs / "bun"), str(programs / "ralph-tui"))

    def prepare(folder: Path, steps: int, agent: str) -> None:
        repository(folder / "repository", SMALL)
        write_prd(folder / "repository", steps)
        config = folder / "repository" / ".ralph-tui" / "config.toml"
        config.write_text(f"autoCommit = true\n{PEER_RETRIES}")
        (folder / "bin").mkdir()
        program = folder / "bin" / "claude"
        version = '[ "$1" = --version ] && { echo 2.0.0; exit; }\n'
        program.write_text(f"#!/bin/sh\n{version}{agent}")
        program.chmod(0o755)
        (folder / "home").mkdir()
        who = "[user]\n\tname = Bench\n\temail = bench@allstop.invalid\n"
        (folder / "home" / ".gitconfig").write_text(who)

    def done(folder: Path) -> int:
        prd = msgspec.json.decode((folder / "repository" / "prd.json").read_bytes())
        return [story["passes"] for story in prd["userStories"]].count(True)

    run = ("run", "--prd", "prd.json", "--agent", "claude", "--headless", "--no-setup")
    resume = (*own, "resume", "--headless")
    return Program(
        prepare=prepare,
        start=lambda folder: (*own, *run, "--no-notify", "--delay", "0", "--iterations", "0"),
        resume=lambda folder: resume if _has_begun(folder, ".ralph-tui/session.json") else None,
        done=done,
        path=lambda folder: f"{folder / 'bin'}:{PATH}",
    )


# --- both -------------------------------------------------------------------------------------


def times_done(folder: Path, steps: int) -> list[int]:
    """How often the agent did each step to its end, in the checkout or in a clone."""
    found = {file.name: file for file in folder.rglob("step-*.txt")}
    files = [found.get(f"step-{number}.txt") for number in range(1, steps + 1)]
    return [len(file.read_text().splitlines()) if file else 0 for file in files]


def whole(program: Program, around: Sequence[str], steps: int) -> tuple[Run, Work]:
    """An undisturbed run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program.prepare(folder, steps, AGENT.format(rest=0))
        run = watched((*around, *program.start(folder)), folder, program.path(folder))
        return run, Work(0, times_done(folder / "repository", steps).count(0))


def killed(program: Program, around: Sequence[str], steps: int, kills: int) -> tuple[float, Work]:
    """Killed at random moments, and resumed each time. Gives the seconds it took in all."""
    moments = random.Random(steps * kills)  # the same for both
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program.prepare(folder, steps, AGENT.format(rest=sized(0.1, 0.01)))
        began, again, known = time.perf_counter(), 0, [0] * steps
        for number in range(kills + 1):
            last = number == kills
            within_s = GIVE_UP_S if last else moments.uniform(EARLIEST_S, LATEST_S)
            argv = program.resume(folder) or program.start(folder)
            has_ended = _run_until((*around, *argv), folder, program.path(folder), within_s)
            times = times_done(folder, steps)
            again += sum(now > before for now, before in zip(times, known, strict=True) if before)
            known = [each if n < program.done(folder) else 0 for n, each in enumerate(times)]
            if last and not has_ended:
                print(f"    ended after {GIVE_UP_S} s")
        took = time.perf_counter() - began
        times = times_done(folder / "repository", steps)
        return took, Work(again, times.count(0), sum(each - 1 for each in times if each))


def _run_until(argv: Sequence[str], folder: Path, path: str, within_s: float) -> bool:
    """Whether it ended in time; otherwise it was killed, alone."""
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen(
            argv,
            cwd=folder / "repository",
            env={"HOME": str(folder / "home"), "PATH": path, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return False
        return True


def killed_plans(programs: dict[str, Program], around: Sequence[str]) -> None:
    found = {name: killed(program, around, STEPS, KILLS) for name, program in programs.items()}
    for name, (took, work) in found.items():
        print(f"P7  {name:<10} {took:5.2f} s with {KILLS} kills at random; {_told(work)}")
    theirs = f"{_told(found[PEER][1])} in {PEER}" if PEER in found else ""
    name = f"P7 {KILLS} kills of {STEPS} steps"
    figure(name, _told(found["allstop"][1]), goal="0 twice, 0 lost", ratio=theirs)


def whole_plans(programs: dict[str, Program], around: Sequence[str], rounds: int) -> None:
    print(f"P7  {STEPS} steps, two failures and a rate limit of 1 s, best of {rounds}")
    walls = {}
    for name, program in programs.items():
        runs = [whole(program, around, STEPS) for _ in range(rounds)]
        run, work = min(runs, key=lambda each: each[0].wall_s)
        walls[name] = run.wall_s
        print(
            f"    {name:<10} {run.wall_s:5.2f} s; CPU: its own {run.own_cpu_s:5.2f} s, of all"
            f" {run.all_cpu_s:5.2f} s; {run.rss_mb:4.0f} MB; {_told(work)} {run.note}"
        )
    ratio = f"{walls['allstop'] / walls[PEER]:.2f} x {PEER}" if PEER in walls else ""
    figure(f"P7 {STEPS} steps, two failures, a limit", f"{walls['allstop']:.2f} s", ratio=ratio)


def _told(work: Work) -> str:
    repeated = f", {work.repeated} cut off and repeated" if work.repeated else ""
    return f"{work.again} twice, {work.lost} lost{repeated}"


# --- the cost of a step -----------------------------------------------------------------------


def cpu_of_steps(folder: Path, count: int) -> float:
    """CPU of the whole program and all its children."""
    prepare_ours(folder, count, SILENT)
    return watched((ALLSTOP, "plan", "run", str(folder / "PLAN.md")), folder, PATH).all_cpu_s


def cpu_of_iterations(folder: Path, count: int) -> float:
    prepare_ours(folder, count, SILENT)
    project = project_in(folder)
    task = NewTask(id="T1", title="Work", iterations=count, stuck_after=10**6)
    anyio.run(commands.import_tasks, project, [task])
    project.close()
    return watched((ALLSTOP, "run"), folder, PATH).all_cpu_s


def step_cost(count: int, rounds: int) -> None:
    """The same agent in the same sandbox, `count` times; the start and the end are subtracted."""
    few, each_ms = sized(5, 1), 1000 / count

    def least(cpu_s: Callable[[Path, int], float]) -> float:
        with tempfile.TemporaryDirectory() as name:
            found = [
                [cpu_s(Path(name, f"{number}-{times}"), times) for times in (few, few + count)]
                for number in range(rounds)
            ]
        return min(many - least for least, many in found) * each_ms

    step, iteration = least(cpu_of_steps), least(cpu_of_iterations)
    print(
        f"Q4  CPU with a sandbox, best of {rounds}: {step:.1f} ms a step, {iteration:.1f} ms a turn"
    )
    figure(
        "Q4 step of a plan", f"{step:.1f} ms CPU", ratio=f"{step / iteration:.2f} x a task's turn"
    )


# --- long plans -------------------------------------------------------------------------------


class NoWorkspaces:
    """Workspaces without git: nothing is ever changed."""

    check_every_s = 3600.0

    async def open(self, *arguments: object, **options: object) -> WorkspaceOpen:
        return WorkspaceOpen(base="b")

    async def keep(self, *arguments: object, **options: object) -> Change:
        return Change(head="b")

    def box_of(self, workspace: str) -> Box:
        return Box(home="/nowhere")

    def shortage(self) -> str:
        return ""

    async def over_limit(self, workspace: str) -> str:
        return ""


async def long_plan(folder: Path, agent: Any) -> None:
    journal, launcher = SqliteJournal(folder, SystemClock()), NoLauncher()
    engine = LocalEngine(
        journal=journal,
        hands=Hands(
            {"a": agent},
            workspaces=cast("Workspaces", NoWorkspaces()),
            launcher=launcher,
        ),
        clock=SystemClock(),
        pilots=PILOTS,
        launcher=launcher,
    )
    steps = tuple(Step(id=f"1.{n}", text=f"Write file {n}") for n in range(1, LONG + 1))
    plan = Plan(phases=(Phase(name="All", steps=steps),))
    spec = PlanSpec(plan=plan, name="p", target="main", agents=("a",), step_delay_s=0.0, edition=2)
    async with engine.serving():
        await engine.open("p", "plan", msgspec.to_builtins(spec))
        await engine.idle()
    journal.close()


def long_plans() -> None:
    agent = CountingAgent()
    with tempfile.TemporaryDirectory() as name:
        anyio.run(long_plan, Path(name), agent)
    assert len(agent.cpu_at) == LONG, f"{len(agent.cpu_at)} of {LONG} steps"
    each_us = (agent.cpu_at[-1] - agent.cpu_at[0]) / (LONG - 1) * 1e6
    print(
        f"Q3  last tenth of {LONG - 1:,} steps / first: {growth(agent.cpu_at):.2f}; {each_us:.0f} µs"
    )
    figure("Q3 last tenth of a long plan", f"{growth(agent.cpu_at):.2f} x the first", goal="1.2 x")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=sized(3, 1))
    parser.add_argument("--steps", type=int, default=sized(50, 1), help="of the cost of a step")
    parser.add_argument("--programs", type=Path, help="where ralph-tui and bun are installed")
    arguments = parser.parse_args()
    print_load()
    long_plans()
    around = without_network()
    with tempfile.TemporaryDirectory() as name:
        installed = arguments.programs or install(Path(name))
        programs = {"allstop": OURS, **({PEER: ralph(installed)} if installed else {})}
        killed_plans(programs, around)
        adopt_orphans()  # not before: nobody would reap the children of a killed program
        whole_plans(programs, around, arguments.rounds)
    step_cost(arguments.steps, arguments.rounds)


if __name__ == "__main__":
    main()
