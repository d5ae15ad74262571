"""A fake app-server for behaviour that the real one rarely shows."""

import json
import os
import signal
import sys
import time

SCENARIO = os.environ["SCENARIO"]
HERE = {"threadId": "thread", "turnId": "turn"}
OLD = {"threadId": "thread", "turnId": "old"}


def send(**message):
    print(json.dumps(message), flush=True)


def note(method, **params):
    send(method=method, params=params)


def receive():
    return json.loads(sys.stdin.readline() or sys.exit(0))


def say(text, where=HERE):
    note("item/completed", item={"type": "agentMessage", "id": "m", "text": text}, **where)


def end(where=HERE, status="completed"):
    note("turn/completed", threadId="thread", turn={"id": where["turnId"], "status": status})


def used(total, where=HERE):
    tokens = {"inputTokens": total, "outputTokens": 1}
    note("thread/tokenUsage/updated", tokenUsage={"last": tokens, "total": tokens}, **where)


def ordinary():
    say("zebra")
    end()


def unknown():
    note("zebra/born", stripes=7)
    send(id=77, method="item/tool/call", params={**HERE, "tool": "x"})
    send(id="s", method="account/chatgptAuthTokens/refresh", params={})
    send(id=78, method="item/commandExecution/requestApproval", params={**OLD, "command": "ls"})
    send(id=79, method="item/permissions/requestApproval", params=["not", "even", "an", "object"])
    answers = sorted([receive() for _ in range(4)], key=lambda answer: str(answer["id"]))
    say(json.dumps([[answer["id"], answer["error"]["code"]] for answer in answers]))
    end()


def limited():
    info = {"responseStreamConnectionFailed": {"httpStatusCode": 429}}
    error = {"message": "Reconnecting... 1/5", "codexErrorInfo": info}
    note("error", willRetry=True, error={**error, "additionalDetails": "try again in 300s"}, **HERE)
    while (message := receive()).get("method") != "turn/interrupt":
        send(id=message["id"], result={})
    send(id=message["id"], result={})
    end(status="interrupted")
    while True:
        send(id=receive()["id"], result={})


def late():
    used(1000, OLD)
    say("words of another turn", OLD)
    end(OLD, "interrupted")
    used(5)
    ordinary()
    say("after the end")


def garbled():
    sys.stdout.buffer.write(b'\xff\xfe\nnot json\n[1]\n"x"\n{"method": 5}\n\n')
    note("item/completed", item={"type": "agentMessage", "text": {"not": "a text"}}, **HERE)
    sys.stdout.buffer.write(
        b'{"method":"item/completed","params":{"threadId":"thread","turnId":"turn",'
        b'"item":{"type":"agentMessage","text":"z\xffbra"}}}\n'
    )
    end()


def endless():
    for _ in range(1000):
        sys.stdout.write("x" * 65536)


def dying():
    used(11)
    print("out of cheese", file=sys.stderr, flush=True)
    time.sleep(0.2)
    os._exit(3)


def taken_back():
    params = {**HERE, "itemId": "i", "command": "make x"}
    send(id=5, method="item/commandExecution/requestApproval", params=params)
    time.sleep(0.3)
    note("serverRequest/resolved", threadId="thread", requestId=5)
    ordinary()


def deaf():
    """Ignores interrupts and every signal that it can."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("item/agentMessage/delta", delta="begun", **HERE)
    while True:
        receive()


def wait_for_steer():
    while (request := receive()).get("method") != "turn/steer":
        pass
    return request["id"]


def refuses():
    send(id=wait_for_steer(), error={"code": -32600, "message": "cannot steer this turn"})
    ordinary()


def takes_late():
    """Ends the turn before it confirms a message."""
    told = wait_for_steer()
    ordinary()
    time.sleep(0.2)
    send(id=told, result={"turnId": "turn"})


def main():
    while True:
        request = receive()
        method = request.get("method")
        if method == "initialize" and SCENARIO != "mute":
            send(id=request["id"], result={})
        elif method in ("thread/start", "thread/resume"):
            send(id=request["id"], result={"thread": {"id": "thread"}, "cwd": "/project"})
        elif method == "turn/start":
            send(id=request["id"], result={"turn": {"id": "turn"}})
            note("turn/started", threadId="thread", turn={"id": "turn"})
            globals()[SCENARIO]()
        elif "id" in request and SCENARIO != "mute":
            send(id=request["id"], result={})


main()
