"""The `allstop` of a box: carries MCP between an agent and the desk of its turn.

It runs by itself, with Python's own library and nothing of ours: a box has no more.
"""

import os
import select
import socket
import sys

USAGE = """in a box there are only these:
  allstop mcp                            an MCP server on standard input and output
  allstop mcp signal COMPLETE
  allstop mcp signal BLOCKED REASON      or PENDING QUESTION
  allstop mcp progress PERCENT WORDS
  allstop mcp ask QUESTION [OPTION…]     waits, and prints the answer
"""

GOODBYE = b"\n\x04\n"
"""Nothing more is asked. To close the line would say that nobody waits for answers either."""


def main() -> int:
    words = sys.argv[1:]
    if words[:1] != ["mcp"] or (words[1:] and (call := call_of(words[1:])) is None):
        sys.stderr.write(USAGE)
        return 2
    try:
        with entered() as door:
            return used(door, call) if words[1:] and call else carried(door)
    except ConnectionError as error:
        sys.stderr.write(f"there was no answer: {error.strerror}\n")
        return 1


def entered() -> socket.socket:
    """Through the folder itself: a socket's path may have 107 bytes only."""
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - no more imports
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.connect("socket")
    if word := os.environ.get("ALLSTOP_WORD"):
        door.sendall(word.encode() + b"\n")
    return door


def carried(door: socket.socket) -> int:
    """Until the door is closed: who has no more to say may still wait for answers."""
    door.settimeout(0)
    line, hears, rest = door.fileno(), True, b""
    while True:
        reading = [0, line] if hears and not rest else [line]
        ready, free, _ = select.select(reading, [line] if rest else [], [])
        if 0 in ready:
            said = os.read(0, 65536)
            hears, rest = bool(said), said or GOODBYE
        if free:
            rest = rest[door.send(rest) :]
        if line in ready:
            if not (told := door.recv(65536)):
                return 0
            sys.stdout.buffer.write(told)
            sys.stdout.buffer.flush()


def call_of(words: list[str]) -> dict[str, object] | None:
    """A use of a tool; None for what is none."""
    match words:
        case ["signal", signal, *rest]:
            given: dict[str, object] = {"signal": signal, "text": " ".join(rest)}
        case ["progress", percent, *rest] if percent.rstrip("%").isdecimal() and rest:
            given = {"percent": int(percent.rstrip("%")), "text": " ".join(rest)}
        case ["ask", question, *options]:
            given = {"question": question, "options": options}
        case _:
            return None
    params = {"name": words[0], "arguments": given}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def used(door: socket.socket, call: dict[str, object]) -> int:
    import json

    door.sendall(json.dumps(call).encode() + b"\n")
    with door.makefile("rb") as answers:
        answer = json.loads(answers.readline() or b"{}").get("result", {})
    said = "\n".join(each["text"] for each in answer.get("content", ()))
    is_done = bool(answer) and not answer["isError"]
    (sys.stdout if is_done else sys.stderr).write(f"{said or 'there was no answer'}\n")
    return 0 if is_done else 1


if __name__ == "__main__":
    sys.exit(main())
