"""Q9: the billed input of a long room, by the price rules of the providers.

Two agents take 200 turns in the room pilot; a model of each provider's cache bills the prompts. The
unit is one uncached token. The bill is compared with a strict window, with and without caching. Prints figures;
asserts nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from allstop.core.context_window import NO_CACHING, CachePricing, WindowPolicy, WindowSpec
from allstop.core.moves import Usage
from allstop.core.prompt import CacheLifetime, Part, StructuredPrompt
from allstop.core.room_specs import Seat
from common import figure, sized
from support.room_runs import RoomSteps, envelope

TURNS = sized(200, 12)
LOOKBACK = 20  # blocks before a mark that a provider searches for a cached prefix


class Provider(NamedTuple):
    name: str
    memory: CachePricing
    steps: int = 1  # cached prefixes are rounded down to multiples of this
    automatic: bool = False  # caches every prefix without marks


PROVIDERS = (
    Provider(
        "OpenAI to 5.5",
        CachePricing(write=1.0, write_hour=None, minutes=5),
        steps=128,
        automatic=True,
    ),
    Provider("OpenAI 5.6+", CachePricing(write_hour=None, minutes=30)),
    Provider("Anthropic, 1,024", CachePricing()),
    Provider("Anthropic, 4,096", CachePricing(least=4096)),
)


def tokens(text: str) -> float:
    return len(text) / 4


class Cache:
    """One provider's cache of one agent's prompts."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._known: dict[tuple[str, ...], float] = {}  # expiry by prefix

    def bill(self, talk: StructuredPrompt, now: float, *, default: bool) -> float:
        """`default`: mark the end of the prompt, as the SDKs do by default."""
        memory = self._provider.memory
        blocks = [talk.system, *(part.text for part in talk.parts)]
        sizes = [tokens(block) for block in blocks]
        marks = self._marks(talk.parts, len(blocks), default=default)
        if not marks:
            return sum(sizes)
        found = self._found(blocks, sizes, marks, now)
        last = max(marks)
        front = sum(sizes[:last])
        whole = sum(sizes)
        seen = sum(sizes[:found]) // self._provider.steps * self._provider.steps
        if front < memory.least:
            return whole
        is_hour = (
            not default and talk.lifetime is CacheLifetime.HOUR and memory.write_hour is not None
        )
        price = memory.write_hour if is_hour else memory.write
        lasts = 60.0 if is_hour else memory.minutes
        for mark in marks:
            if sum(sizes[:mark]) >= memory.least:
                self._known[tuple(blocks[:mark])] = now + lasts * 60
        if found:
            self._known[tuple(blocks[:found])] = now + lasts * 60
        return seen * memory.read + (front - seen) * (price or 1.0) + (whole - front)

    def _marks(self, parts: tuple[Part, ...], blocks: int, *, default: bool) -> list[int]:
        if self._provider.automatic:
            return list(range(1, blocks + 1))
        if default:
            return [blocks - 1]  # before the notes of the turn, in its favour
        kept = [place + 2 for place, part in enumerate(parts) if part.keep]
        return [1, *kept] if kept else []

    def _found(self, blocks: list[str], sizes: list[float], marks: list[int], now: float) -> int:
        for mark in sorted(marks, reverse=True):
            for end in range(mark, max(0, mark - LOOKBACK), -1):
                if self._known.get(tuple(blocks[:end]), -1.0) >= now:
                    return end
        return 0


def talked(
    provider: Provider, *, system: int, message: int, turn_s: float, policy: WindowPolicy, mode: str
) -> float:
    """The bill of both agents; `mode` is ours, default or none."""
    chance = random.Random(7)
    memory = provider.memory if mode == "ours" else NO_CACHING
    seats = tuple(Seat(agent=name, memory=memory) for name in ("gpt", "claude"))
    table = RoomSteps(
        seats=seats,
        goal="g" * (system * 4 - 700),
        window=WindowSpec(policy=policy),
        max_turns=10**9,
        max_tokens=10**12,
        max_minutes=10**9,
        soft_turns=0,
        soft_tokens=0,
    )
    caches = {seat.agent: Cache(provider) for seat in seats}
    bill = 0.0
    for turn in range(TURNS):
        move = table.begin()
        talk = move.prompt.talk
        now = (table.now - table.run.opened.at).total_seconds()
        if mode == "none":
            bill += tokens(move.prompt.whole)
        else:
            bill += caches[move.agent].bill(talk, now, default=mode == "default")
        size = max(20, int(chance.lognormvariate(0, 0.5) * message * 4 * 0.88))
        text = f"{turn} " + "word " * (size // 5)
        table.end(_done(text, move.prompt.chars), takes_s=turn_s)
    return bill


def _done(text: str, chars: int):
    from allstop.core.moves import TurnDone

    return TurnDone(text=envelope(text), usage=Usage(input=chars // 4, output=len(text) // 4))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--quick", action="store_true", default=sized(0, 1), help="only the case of Q9"
    )
    arguments = parser.parse_args()
    sizes = (
        [(2000, 600)] if arguments.quick else [(2000, 600), (400, 150), (2000, 150), (15000, 600)]
    )
    gaps = [5.0] if arguments.quick else [5.0, 180.0, 900.0]
    print("share of the bill: ours / strict with default caching | ours / strict without caching")
    shares = []
    for system, message in sizes:
        for turn_s in gaps:
            span = timedelta(seconds=turn_s)
            print(f"system {system}, messages {message} tokens, a turn every {span}")
            for provider in PROVIDERS:
                case = {"system": system, "message": message, "turn_s": turn_s}
                ours = talked(provider, **case, policy=WindowPolicy.ELASTIC, mode="ours")
                strict = talked(provider, **case, policy=WindowPolicy.STRICT, mode="default")
                none = talked(provider, **case, policy=WindowPolicy.STRICT, mode="none")
                if (system, turn_s) == (2000, 5.0) and message == 600:
                    shares.append(ours / strict)
                print(
                    f"  Q9  {provider.name:18} {ours / strict:5.0%} | {ours / none:5.0%}"
                    f"   ({ours / 1000:,.0f}k, {strict / 1000:,.0f}k, {none / 1000:,.0f}k tokens)"
                )
    figure(
        "Q9 input of a long room", f"{max(shares):.0%}", goal="60%", ratio="of a strict window's"
    )


if __name__ == "__main__":
    main()
