"""The `allstop` command inside a box: relays MCP between the agent and the tools of its turn.

It may import only the standard library, because a box has no other packages.
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

END_OF_INPUT = b"\n\x04\n"
"""Ends the input, while the connection stays open for outstanding answers."""


def main() -> int:
    words = sys.argv[1:]
    if words[:1] != ["mcp"] or (words[1:] and (call := tool_call(words[1:])) is None):
        sys.stderr.write(USAGE)
        return 2
    try:
        with connect() as connection:
            return call_tool(connection, call) if words[1:] and call else relay(connection)
    except ConnectionError as error:
        sys.stderr.write(f"there was no answer: {error.strerror}\n")
        return 1


def connect() -> socket.socket:
    """Connect by a relative path, because a socket's path is limited to 107 bytes."""
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - no more imports
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect("socket")
    if token := os.environ.get("ALLSTOP_WORD"):
        connection.sendall(token.encode() + b"\n")
    return connection


def relay(connection: socket.socket) -> int:
    """Copy both ways until the server closes; answers may follow the end of standard input."""
    connection.settimeout(0)
    server, has_input, unsent = connection.fileno(), True, b""
    while True:
        sources = [0, server] if has_input and not unsent else [server]
        readable, writable, _ = select.select(sources, [server] if unsent else [], [])
        if 0 in readable:
            data = os.read(0, 65536)
            has_input, unsent = bool(data), data or END_OF_INPUT
        if writable:
            unsent = unsent[connection.send(unsent) :]
        if server in readable:
            if not (answer := connection.recv(65536)):
                return 0
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()


def tool_call(words: list[str]) -> dict[str, object] | None:
    """The tool call that the arguments stand for; None if they are invalid."""
    match words:
        case ["signal", signal, *rest]:
            arguments: dict[str, object] = {"signal": signal, "text": " ".join(rest)}
        case ["progress", percent, *rest] if percent.rstrip("%").isdecimal() and rest:
            arguments = {"percent": int(percent.rstrip("%")), "text": " ".join(rest)}
        case ["ask", question, *options]:
            arguments = {"question": question, "options": options}
        case _:
            return None
    params = {"name": words[0], "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def call_tool(connection: socket.socket, call: dict[str, object]) -> int:
    import json

    connection.sendall(json.dumps(call).encode() + b"\n")
    with connection.makefile("rb") as answers:
        answer = json.loads(answers.readline() or b"{}").get("result", {})
    text = "\n".join(each["text"] for each in answer.get("content", ()))
    is_done = bool(answer) and not answer["isError"]
    (sys.stdout if is_done else sys.stderr).write(f"{text or 'there was no answer'}\n")
    return 0 if is_done else 1


if __name__ == "__main__":
    sys.exit(main())
