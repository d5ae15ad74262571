"""What an app-server asks of people, and how it is answered."""

from __future__ import annotations

import shlex

import msgspec

from allstop.adapters.agents.codex.items import changes
from allstop.adapters.agents.codex.messages import Approval, FileChange, Question, ThreadItem
from allstop.adapters.agents.codex.shell_wrapper import argv_of, line_of
from allstop.adapters.agents.codex.turn_fold import Asked
from allstop.adapters.agents.rpc_messages import decoded
from allstop.core import asks
from allstop.core.asks import Answer, Ask, Option, Permission
from allstop.core.text import last_chars, one_line

QUESTION = "item/tool/requestUserInput"

ASK_CHARS = 16_000
LABEL_CHARS = 200
MOST_OPTIONS = 20
ALONE = "Decide for yourself, carefully, and say what you decided."

_DECISIONS = {
    Permission.ALLOW: "accept",
    Permission.SESSION: "acceptForSession",
    Permission.DENY: "decline",
}


def ask_of(asked: Asked, begun: ThreadItem | None, cwd: str) -> Ask | None:
    """The question for people; None where this driver can't put it to anybody.

    `cwd` is where the conversation is at home.
    """
    approval = decoded(asked.params, Approval)
    if approval is None:
        return None
    name = approval.approval_id or approval.item_id
    match asked.method:
        case "item/commandExecution/requestApproval":
            return _command(name, approval, cwd)
        case "item/fileChange/requestApproval":
            return _edit(name, approval, begun.changes if begun else ())
        case "item/tool/requestUserInput":
            return _question(name, approval.questions)
        case _:
            return None


def answer_to(asked: Asked, answer: Answer) -> dict[str, object]:
    if asked.method != QUESTION:
        return {"decision": _DECISIONS[answer.leave]}
    questions = msgspec.json.decode(asked.params, type=Approval).questions
    told = answer.answers_to(len(questions), ALONE)
    pairs = zip(questions, told, strict=True)
    return {"answers": {question.id: {"answers": [words]} for question, words in pairs}}


def _command(name: str, approval: Approval, cwd: str) -> Ask:
    command = approval.command or ""
    widens = approval.network_approval_context or approval.additional_permissions
    is_plain = approval.kind == "command" and 0 < len(command) <= ASK_CHARS
    if widens or not is_plain:
        # no rule for a command covers more than the command, and none sees but a part of it
        more = f"it wants more than it has: {widens or approval.kind}"
        return Ask(id=name, kind="question", text=_text(command, more, approval.reason))
    if approval.cwd and approval.cwd != cwd:
        line = f"cd {shlex.quote(approval.cwd)} && {line_of(command)}"
        return Ask(id=name, kind="command", text=line)
    return Ask(id=name, kind="command", argv=argv_of(command), text=line_of(command))


def _edit(name: str, approval: Approval, changed: tuple[FileChange, ...]) -> Ask:
    root = approval.grant_root
    if root or not changed:
        more = f"it wants to write in {root}" if root else "it wants to change files"
        return Ask(id=name, kind="question", text=_text(more, approval.reason, changes(changed)))
    paths = tuple(change.path for change in changed)
    return Ask(id=name, kind="edit", paths=paths, text=_text(changes(changed), approval.reason))


def _question(name: str, questions: tuple[Question, ...]) -> Ask:
    text = _text(*(question.question for question in questions))
    return Ask(id=name, kind="question", text=text, questions=tuple(map(_put, questions)))


def _put(question: Question) -> asks.Question:
    options = tuple(
        Option(label=one_line(option.label, LABEL_CHARS), text=_text(option.description))
        for option in (question.options or ())[:MOST_OPTIONS]
    )
    return asks.Question(text=_text(question.question), options=options)


def _text(*parts: str | None) -> str:
    return last_chars("\n".join(filter(None, parts)), ASK_CHARS)
