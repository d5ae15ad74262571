"""Runs the model server: `python -m allstop.testing.model_server --port 0` prints its address."""

import argparse
import sys

import anyio

from allstop.testing.model_server import Fault, Say, envelope, model_server


async def main() -> None:
    parser = argparse.ArgumentParser(description="A model provider on localhost.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--say", action="append", help="a reply; may be given several times")
    parser.add_argument(
        "--message",
        action="append",
        help="a reply in a room's envelope; may be given several times",
    )
    parser.add_argument("--fault", type=Fault, choices=list(Fault))
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each reply")
    chosen = parser.parse_args()
    texts = [*(chosen.say or []), *map(envelope, chosen.message or [])] or ["ok"]
    answers = [Say(text=text, fault=chosen.fault, delay_s=chosen.delay) for text in texts]
    async with model_server(answers, port=chosen.port) as server:
        sys.stdout.write(f"{server.anthropic_url}\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    try:
        anyio.run(main)
    except KeyboardInterrupt:
        sys.exit(0)
