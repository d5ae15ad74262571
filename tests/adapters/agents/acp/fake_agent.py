"""A fake ACP agent for behaviour that real agents rarely show."""

import json
import os
import signal
import subprocess
import sys
import time

SCENARIO = sys.argv[1]
OPENED = {}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
COMMAND = {
    "toolCallId": "t1",
    "title": "make install",
    "kind": "execute",
    "status": "pending",
    "rawInput": {"command": "make install"},
}


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive():
    return json.loads(sys.stdin.readline() or sys.exit(0))


def update(what, **fields):
    params = {"sessionId": "s1", "update": {"sessionUpdate": what, **fields}}
    send(method="session/update", params=params)


def say(text, **fields):
    update("agent_message_chunk", content={"type": "text", "text": text}, **fields)


def history():
    update("user_message_chunk", content={"type": "text", "text": "before"})
    say("old words")
    update("tool_call", toolCallId="old", title="ls", kind="execute", status="completed")


def ask(number, options=OPTIONS, call=COMMAND):
    send(
        id=number,
        method="session/request_permission",
        params={"sessionId": "s1", "toolCall": call, "options": options},
    )


def form(number, mode="form", **fields):
    params = {"sessionId": "s1", "mode": mode, "message": "Which?", "requestedSchema": fields}
    send(id=number, method="elicitation/create", params=params)


def forms(request):
    """A form that people can fill in, one with a URL, and an invalid one."""
    form(1, properties={"colour": {"type": "string", "enum": ["red", "blue"]}})
    answers = [receive()]
    form(2, mode="url", url="http://127.0.0.1:1/", elicitationId="e")
    answers.append(receive())
    form(3, properties=["no", "fields"])
    answers.append(receive())
    say(json.dumps([each.get("result") or each["error"]["code"] for each in answers]))
    end(request)


def hasty_form(request):
    form(1, properties={"colour": {"type": "string"}})
    time.sleep(0.3)
    send(method="$/cancel_request", params={"requestId": 1})
    say(json.dumps(receive()["result"]))
    end(request)


def leave(number, server, tool):
    """Asks for permission with a form, as codex does behind its adapter."""
    call = {"toolCallId": f"c{number}", "kind": "execute", "title": f"mcp.{server}.{tool}"}
    given = {"server": server, "tool": tool, "arguments": {"signal": "COMPLETE"}}
    update("tool_call", **call, rawInput=given, _meta={"is_mcp_tool_call": True})
    persist = {"type": "string", "oneOf": [{"const": each} for each in ("once", "always")]}
    params = {
        "sessionId": "s1",
        "toolCallId": call["toolCallId"],
        "mode": "form",
        "message": f"Allow the {server} MCP server to run tool {tool}?",
        "_meta": {"codex_approval_kind": "mcp_tool_call", "persist": ["always"]},
        "requestedSchema": {"type": "object", "properties": {"persist": persist}},
    }
    send(id=number, method="elicitation/create", params=params)


def tools(request):
    """Calls one of the turn's tools before and after connecting, and another tool."""
    answers = []
    for number, server in enumerate(("allstop", "allstop", "zebra")):
        if number == 1:
            enter()
        leave(number, server, "signal")
        answers.append(receive()["result"])
    say(json.dumps(answers))
    end(request)


def enter():
    server = OPENED["mcpServers"][0]
    env = {each["name"]: each["value"] for each in server["env"]}
    argv = [server["command"], *server["args"]]
    own = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    own.stdin.write(json.dumps(hello).encode() + b"\n")
    own.stdin.flush()
    own.stdout.readline()


def end(request, reason="end_turn", **more):
    send(id=request, result={"stopReason": reason, **more})


def ordinary(request):
    say("zebra")
    end(request)
    say("after the end")


late = timely = forgets = resumes = ordinary


def confused(request):
    """Answers without a request, and uses one id for two requests."""
    send(id=77, result={"stopReason": "end_turn"})
    ask("p1")
    ask("p1")
    answers = [receive()["result"]["outcome"]["optionId"] for _ in range(2)]
    say(json.dumps(answers))
    end(request)


def unknown(request):
    send(method="zebra/born", params={"stripes": 7})
    update("zebra_update", stripes=7)
    for number, method in enumerate(("fs/read_text_file", "terminal/create", "_zebra/ask")):
        send(id=f"q{number}", method=method, params={"path": "/etc/passwd"})
    send(id="q3", method="session/request_permission", params=["not", "even", "an", "object"])
    answers = sorted((receive() for _ in range(4)), key=lambda answer: answer["id"])
    say(json.dumps([[answer["id"], answer["error"]["code"]] for answer in answers]))
    end(request)


def garbled(request):
    sys.stdout.buffer.write(b'\xff\xfe\nnot json\n[1]\n"x"\n{"method": 5}\n\n')
    update("agent_message_chunk", content={"type": "text", "text": {"not": "a text"}})
    update("tool_call", toolCallId="t", locations="nowhere")
    sys.stdout.flush()
    sys.stdout.buffer.write(
        b'{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk",'
        b'"content":{"type":"text","text":"z\xffbra"}}}}\n'
    )
    sys.stdout.flush()
    end(request)


def long_update(request):
    """Sends an unneeded line of 200 MB."""
    sys.stdout.write('{"method":"session/update","params":{"update":{"x":"')
    for _ in range(200):
        sys.stdout.write("x" * 1_000_000)
    sys.stdout.write('"}}}\n')
    say("zebra")
    end(request)


def long_answer(request):
    sys.stdout.write(f'{{"id":{request},"result":{{"x":"' + "x" * 40_000_000 + '"}}\n')
    sys.stdout.flush()
    time.sleep(99)


def flood(request):
    """Sends 200 MB of text and of tool calls that never end."""
    words = "x" * 100_000
    for number in range(1000):
        say(words)
        update("tool_call", toolCallId=f"t{number}", title="x", rawInput={"x": words})
    say("zebra")
    end(request)


def dying(request):
    say("begun")
    print("out of cheese", file=sys.stderr, flush=True)
    time.sleep(0.2)
    os._exit(3)


def reborn(request):
    """Dies in its first process."""
    if os.path.exists("lived"):
        return ordinary(request)
    os.mkdir("lived")
    return dying(request)


def deaf(request):
    """Ignores cancel requests and every signal that it can."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say("begun")
    while True:
        receive()


def asks(request, options=OPTIONS):
    ask("p1", options)
    say(json.dumps(receive()["result"]["outcome"]))
    end(request)


def only_always(request):
    asks(request, OPTIONS[:1])


def always_or_no(request):
    asks(request, [OPTIONS[0], OPTIONS[2]])


def asks_briefly(request):
    """Asks with a tool call whose details it sent before."""
    update("tool_call", **COMMAND)
    ask("p1", call={"toolCallId": "t1"})
    say(json.dumps(receive()["result"]["outcome"]))
    end(request)


def asks_twice(request):
    ask("p1")
    ask("p2", call={**COMMAND, "toolCallId": "t2", "rawInput": {"command": "make check"}})
    answers = sorted((receive() for _ in range(2)), key=lambda answer: answer["id"])
    say(json.dumps([answer["result"]["outcome"]["optionId"] for answer in answers]))
    end(request)


def no_is_the_end(request):
    """Ends the turn after a denial, as the adapters of codex do."""
    ask("p1")
    receive()
    end(request, "cancelled")


def taken_back(request):
    ask("p1")
    time.sleep(0.3)
    send(method="$/cancel_request", params={"requestId": "p1"})
    say(json.dumps(receive()["result"]["outcome"]))
    end(request)


def waits(request):
    """Waits for permission, and writes the answer to a file."""
    ask("p1")
    with open("heard", "w") as heard:
        for line in sys.stdin:
            print(line, file=heard, flush=True, end="")


def gives_up(request):
    end(request, "cancelled")


def mysterious(request):
    end(request, "zebra")


def cut(request):
    end(request, "max_tokens")


def worded(request):
    """Reports a failure of the model as a reply without usage."""
    say("exceeded retry limit, last status: 429 Too Many Requests\n\n")
    end(request, usage=None)


def talkative(request):
    """Replies with text about limits, which is no limit."""
    say("API Error handling is done: a 429 is tried again.")
    end(request, usage={"inputTokens": 10, "outputTokens": 5, "totalTokens": 15})


def costly(request):
    update("usage_update", used=1, size=2, cost={"amount": 0.5, "currency": "USD"})
    ordinary(request)


def costlier(request):
    update("usage_update", used=1, size=2, cost={"amount": 0.75, "currency": "USD"})
    ordinary(request)


def choosy(request):
    with open("model") as model:
        say(model.read())
    end(request)


def opened(request):
    method, number = request["method"], request["id"]
    OPENED.update(request["params"])
    if SCENARIO == "locked":
        return send(id=number, error={"code": -32000, "message": "Authentication required"})
    if SCENARIO == "forgets" and method != "session/new":
        return send(id=number, error={"code": -32002, "message": "Resource not found"})
    if SCENARIO == "timely" and method == "session/load":
        history()
    models = [{"id": "model", "category": "model", "type": "select"}]
    options = models if SCENARIO == "choosy" else None
    if SCENARIO == "optional_modes":
        options = [{"id": "how", "category": "mode", "type": "select"}]
    if SCENARIO == "codex":
        values = [{"value": name} for name in ("edit-internal", "agent", "agent-full-access")]
        mode = {"id": "mode", "category": "mode", "currentValue": "agent", "options": values}
        options = [{"type": "select", **mode}]
    known = [{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}]
    modes = {"currentModeId": "ask", "availableModes": known} if SCENARIO == "modes" else None
    if SCENARIO == "zed_codex":
        known = [{"id": name} for name in ("read-only", "auto", "full-access")]
        modes = {"currentModeId": "auto", "availableModes": known}
    send(id=number, result={"sessionId": "s1", "configOptions": options, "modes": modes})
    if SCENARIO == "late" and method == "session/load":
        for _ in range(3):
            time.sleep(0.2)
            history()
    return None


def main():
    resume = {"resume": {}} if SCENARIO == "resumes" else {}
    offers = {"loadSession": SCENARIO != "plain", "sessionCapabilities": resume}
    version = 2 if SCENARIO == "modern" else 1
    while True:
        request = receive()
        method = request.get("method")
        with open("methods", "a") as methods:
            print(method, file=methods)
        if method == "initialize":
            if SCENARIO == "mute":
                continue
            hello = {"protocolVersion": version, "agentCapabilities": offers}
            send(id=request["id"], result=hello)
        elif method in ("session/new", "session/load", "session/resume"):
            opened(request)
        elif method == "session/set_config_option":
            with open("model", "w") as model:
                model.write(request["params"]["value"])
            send(id=request["id"], result={})
        elif method == "session/set_mode":
            with open("mode", "w") as mode:
                mode.write(request["params"]["modeId"])
            send(id=request["id"], result={})
        elif method == "session/prompt":
            globals().get(SCENARIO, ordinary)(request["id"])


main()
