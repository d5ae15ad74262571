"""A model's answers for any coding agent: they use whichever shell tool the agent offers."""

import json

from allstop.testing.model_server import Call, Protocol, Say

DONE = "It is there.\n<promise>COMPLETE</promise>"

_SHELLS = ("exec_command", "shell_command", "Bash", "bash", "run_shell_command", "developer__shell")


def tool_names(asked):
    """The names of the tools that a request offers."""
    found = []
    for tool in asked.body.get("tools") or ():
        for each in tool.get("functionDeclarations") or (tool.get("function") or tool,):
            found.append(each.get("name", ""))
    return found


def shell(asked, command):
    """A reply that runs a command; None if the request offers no shell."""
    name = next((each for each in _SHELLS if each in tool_names(asked)), None)
    if name is None:
        name = next((each for each in tool_names(asked) if each.endswith("shell")), None)
    if name is None:
        return None
    arguments = {"cmd" if name == "exec_command" else "command": command}
    if name in ("Bash", "bash", "run_shell_command"):
        arguments["description"] = "work"
    if name == "run_shell_command" and asked.protocol is Protocol.CHAT:
        arguments["is_background"] = False
    return Say(calls=(Call(name=name, arguments=arguments),))


def has_result(asked):
    """Whether the request has the result of a tool."""
    text = json.dumps([asked.body.get(name) for name in ("messages", "input", "contents")])
    signs = ('"role": "tool"', '"tool_result"', '_call_output"', '"functionResponse"')
    return any(sign in text for sign in signs)


def edit(name, line):
    """Aider's reply that makes a file."""
    return f"{name}\n```\n<<<<<<< SEARCH\n=======\n{line}\n>>>>>>> REPLACE\n```\n"
