"""An agent that follows a script, without a key or network; for the demo and for tests."""

from contextlib import AsyncExitStack
from datetime import timedelta

import anyio
import anyio.lowlevel

from allstop import ports
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.script import (
    AskPermission,
    AskQuestion,
    AwaitMessage,
    EmitSignal,
    Fail,
    Flood,
    Hang,
    RateLimit,
    ReportContext,
    ReportUsage,
    RunCommand,
    Say,
    Script,
    ScriptTurn,
    Sleep,
    SpawnCommand,
    Step,
    Write,
)
from allstop.core.asks import Ask, Option, Question
from allstop.core.moves import Failed, FailureKind, Item, TurnDone, Usage
from allstop.programs import Tail, run_to_end

_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat >"$1"'


class ScriptedAgent:
    """Keeps only the number of turns taken as its conversation, so it can be resumed."""

    abilities = ports.Abilities(resume=True, fork=True, steer=True, asks=True, usage=True)

    def __init__(
        self, script: Script, *, launcher: ports.Launcher, clock: ports.Clock, trusted: bool = False
    ) -> None:
        """`trusted`: the person accepted the script, so its commands may run without a box."""
        self._script = script
        self._launcher = launcher
        self._clock = clock
        self._trusted = trusted

    async def take_turn(self, turn: ports.Turn, watch: ports.Watch) -> TurnDone | Failed:
        number = int(turn.thread.removeprefix("turn-")) if turn.thread else 0
        script_turn = self._script.turn(number, turn.prompt.whole)
        if script_turn is None:
            message = f"the script has no turn {number + 1} for this prompt"
            return Failed(kind=FailureKind.BAD_REQUEST, message=message)
        scripted = _ScriptedTurn(turn, watch, self._launcher, self._clock, self._trusted)
        failed = await scripted.run(script_turn)
        if failed is not None:
            return failed
        return TurnDone(
            text=scripted.text(),
            thread=f"turn-{number + 1}",
            usage=scripted.usage,
            context=scripted.context,
        )

    async def close(self) -> None:
        pass


class _ScriptedTurn:
    def __init__(
        self,
        turn: ports.Turn,
        watch: ports.Watch,
        launcher: ports.Launcher,
        clock: ports.Clock,
        trusted: bool,  # noqa: FBT001
    ) -> None:
        self._turn = turn
        self._trusted = trusted
        self._watch = watch
        self._launcher = launcher
        self._clock = clock
        self._words: list[str] = []
        self._signal = ""
        self.usage = Usage()
        self.context = 0

    def text(self) -> str:
        return "\n".join([*self._words, *([self._signal] if self._signal else [])])

    async def run(self, script_turn: ScriptTurn) -> Failed | None:
        async with AsyncExitStack() as background:
            for step in script_turn.steps:
                failed = await self._step(step, background)
                if failed is not None:
                    return failed
        return None

    async def _step(  # noqa: C901 - one case for each verb
        self, step: Step, background: AsyncExitStack
    ) -> Failed | None:
        if self._turn.place is None and isinstance(step, Write | RunCommand | SpawnCommand):
            message = "the script needs a workspace, and a room has none"
            return Failed(kind=FailureKind.BAD_REQUEST, message=message, usage=self.usage)
        match step:
            case Say(say=words):
                self._words.append(words)
                self._watch.live(ports.Live("text", words))
            case Write(write=path, text=text):
                launch = self._launch(("sh", "-c", _WRITE, "sh", path), trusted=True)
                return await self._run(launch, text, f"wrote {path}")
            case RunCommand(run=command):
                launch = self._launch(("sh", "-c", command), trusted=self._trusted)
                return await self._run(launch, "", f"ran {command}")
            case SpawnCommand(spawn=command):
                launch = self._launch(("sh", "-c", command), trusted=self._trusted)
                await background.enter_async_context(self._launcher.launch(launch))
            case Sleep(sleep=seconds):
                await anyio.sleep(seconds)
            case Hang():
                await anyio.sleep_forever()
            case EmitSignal(signal=signal):
                self._signal = f"<promise>{signal}</promise>"
            case Fail(fail=kind, message=message):
                return Failed(kind=kind, message=message, usage=self.usage)
            case RateLimit(rate_limit=seconds):
                until = self._clock.now() + timedelta(seconds=seconds)
                return Failed(kind=FailureKind.RATE_LIMITED, retry_at=until, usage=self.usage)
            case AskPermission(ask=command):
                ask = Ask(id=f"ask-{len(self._words)}", argv=tuple(command.split()), text=command)
                answer = await self._watch.ask(ask)
                self._words.append(f"{command}: {'allowed' if answer.allows else 'denied'}")
            case AskQuestion(question=question, options=labels):
                await self._question(question, labels)
            case AwaitMessage():
                self._words.append(await self._watch.words())
                await self._watch.reached()
            case ReportUsage(use=usage):
                self.usage = usage
            case ReportContext(context=tokens):
                self.context = tokens
            case Flood(flood=size):
                await self._flood(size)
        return None

    async def _run(self, launch: ports.Launch, stdin: str, done: str) -> Failed | None:
        tail = Tail()
        try:
            code = await run_to_end(self._launcher, launch, stdin.encode(), tail, self._watch.live)
        except (ports.LaunchError, ports.UnsafeError) as error:
            return failed_launch(error)
        if code != 0:
            message = f"{' '.join(launch.argv[2:])}: exit code {code}\n{tail.text()}"
            return Failed(kind=FailureKind.EXITED, message=message, usage=self.usage)
        await self._watch.saw(Item(kind="did", text=done))
        return None

    def _launch(self, argv: tuple[str, ...], *, trusted: bool) -> ports.Launch:
        place = self._turn.place
        assert place is not None, "this step needs a workspace"
        return ports.Launch(
            argv=argv, box=place, label=self._turn.run, env=place.env, trusted=trusted
        )

    async def _question(self, text: str, labels: tuple[str, ...]) -> None:
        options = tuple(Option(label=label) for label in labels)
        question = Question(text=text, options=options)
        name = f"ask-{len(self._words)}"
        ask = Ask(id=name, kind="question", text=text, questions=(question,))
        answer = await self._watch.ask(ask)
        (reply,) = answer.answers_to(1, "decided by itself")
        self._words.append(f"{text}: {reply}")

    async def _flood(self, size: int) -> None:
        chunk = "x" * 8192
        for _ in range(0, size, len(chunk)):
            self._watch.live(ports.Live("text", chunk))
            await anyio.lowlevel.checkpoint()
