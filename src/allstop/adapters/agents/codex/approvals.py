"""Translates codex's approval requests into asks, and the answers back."""

import shlex

import msgspec

from allstop.adapters.agents.codex.items import show_changes
from allstop.adapters.agents.codex.messages import Approval, FileChange, Question, ThreadItem
from allstop.adapters.agents.codex.shell_wrapper import unwrap, unwrap_argv
from allstop.adapters.agents.codex.turn_fold import ServerRequest
from allstop.adapters.agents.rpc_peer import decoded
from allstop.core import asks
from allstop.core.asks import Answer, Ask, Option, Permission
from allstop.core.text import last_chars, one_line

QUESTION = "item/tool/requestUserInput"

ASK_CHARS = 16_000
LABEL_CHARS = 200
MAX_OPTIONS = 20
NO_ANSWER = "Decide for yourself, carefully, and say what you decided."

_DECISIONS = {
    Permission.ALLOW: "accept",
    Permission.SESSION: "acceptForSession",
    Permission.DENY: "decline",
}


def read_ask(request: ServerRequest, started: ThreadItem | None, cwd: str) -> Ask | None:
    """The ask for a person; None if this driver doesn't support the request.

    `cwd` is the folder of the conversation.
    """
    approval = decoded(request.params, Approval)
    if approval is None:
        return None
    name = approval.approval_id or approval.item_id
    match request.method:
        case "item/commandExecution/requestApproval":
            return _command(name, approval, cwd)
        case "item/fileChange/requestApproval":
            return _edit(name, approval, started.changes if started else ())
        case "item/tool/requestUserInput":
            return _question(name, approval.questions)
        case _:
            return None


def write_answer(request: ServerRequest, answer: Answer) -> dict[str, object]:
    if request.method != QUESTION:
        return {"decision": _DECISIONS[answer.leave]}
    questions = msgspec.json.decode(request.params, type=Approval).questions
    texts = answer.answers_to(len(questions), NO_ANSWER)
    pairs = zip(questions, texts, strict=True)
    return {"answers": {question.id: {"answers": [text]} for question, text in pairs}}


def _command(name: str, approval: Approval, cwd: str) -> Ask:
    command = approval.command or ""
    widens = approval.network_approval_context or approval.additional_permissions
    is_plain = approval.kind == "command" and 0 < len(command) <= ASK_CHARS
    if widens or not is_plain:
        # a rule for commands covers neither extra permissions nor a part of a command
        more = f"codex requests more permissions: {widens or approval.kind}"
        return Ask(id=name, kind="question", text=_text(command, more, approval.reason))
    if approval.cwd and approval.cwd != cwd:
        line = f"cd {shlex.quote(approval.cwd)} && {unwrap(command)}"
        return Ask(id=name, kind="command", text=line)
    return Ask(id=name, kind="command", argv=unwrap_argv(command), text=unwrap(command))


def _edit(name: str, approval: Approval, changed: tuple[FileChange, ...]) -> Ask:
    root = approval.grant_root
    if root or not changed:
        more = f"codex requests to write in {root}" if root else "codex requests to change files"
        return Ask(
            id=name, kind="question", text=_text(more, approval.reason, show_changes(changed))
        )
    paths = tuple(change.path for change in changed)
    return Ask(
        id=name, kind="edit", paths=paths, text=_text(show_changes(changed), approval.reason)
    )


def _question(name: str, questions: tuple[Question, ...]) -> Ask:
    text = _text(*(question.question for question in questions))
    return Ask(id=name, kind="question", text=text, questions=tuple(map(_question_of, questions)))


def _question_of(question: Question) -> asks.Question:
    options = tuple(
        Option(label=one_line(option.label, LABEL_CHARS), text=_text(option.description))
        for option in (question.options or ())[:MAX_OPTIONS]
    )
    return asks.Question(text=_text(question.question), options=options)


def _text(*parts: str | None) -> str:
    return last_chars("\n".join(filter(None, parts)), ASK_CHARS)
