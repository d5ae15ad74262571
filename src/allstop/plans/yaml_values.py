"""Parses YAML into values with line numbers. Every plain scalar is text; nothing is constructed."""

from typing import Any

from allstop.plans.document import DEEPEST, Value
from allstop.plans.plan import Problem

TRUE, FALSE = ("true", "True", "yes"), ("false", "False", "no")


def parse(text: str) -> tuple[Value | None, list[Problem]]:
    """The first document, and problems: aliases, anchors, tags and further documents."""
    import yaml  # type: ignore[import-untyped]  # loads a large module, which few commands need

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(yaml, event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        builder.problem(mark.line + 1 if mark else 1, f"not valid YAML: {why}", "YAML")
        return None, builder.problems
    except yaml.YAMLError as error:
        builder.problem(1, f"not valid YAML: {' '.join(str(error).split())}", "YAML")
        return None, builder.problems
    return builder.root, builder.problems


class _Builder:
    def __init__(self) -> None:
        self.root: Value | None = None
        self.problems: list[Problem] = []
        self._open: list[Value] = []
        self._keys: list[Value | None] = []  # of each open mapping, the key that waits for a value
        self._documents = 0

    def problem(self, line: int, problem: str, expected: str) -> None:
        self.problems.append(Problem(line=line, problem=problem, expected=expected))

    def take(self, yaml: Any, event: Any) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents == 2:
                    self.problem(line, "there is a second document", "one document")
            case yaml.AliasEvent():
                self.problem(line, f"there is an alias *{event.anchor}", "the text itself")
                self._add(Value(line=line, kind="an alias"))
            case yaml.ScalarEvent():
                self._check_marks(event, line)
                self._add(_scalar(event, line))
            case yaml.SequenceStartEvent():
                self._check_marks(event, line)
                self._begin(Value(line=line, items=[], kind="a list"))
            case yaml.MappingStartEvent():
                self._check_marks(event, line)
                self._begin(Value(line=line, pairs=[], kind="an object"))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._open.pop()
                self._keys.pop()
            case _:
                pass

    def _check_marks(self, event: Any, line: int) -> None:
        if event.anchor:
            self.problem(line, f"there is an anchor &{event.anchor}", "no anchors")
        if event.tag and event.tag != "!":
            self.problem(line, f"there is a tag {event.tag[:80]}", "no tags")

    def _begin(self, value: Value) -> None:
        if len(self._open) == DEEPEST:
            expected = f"at most {DEEPEST} levels"
            self.problem(value.line, "the values are nested too deeply", expected)
        self._add(value)
        self._open.append(value)
        self._keys.append(None)

    def _add(self, value: Value) -> None:
        if not self._open:
            self.root = self.root or value
            return
        into = self._open[-1]
        if into.items is not None:
            into.items.append(value)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = value
        else:
            self._keys[-1] = None
            if value.kind == "empty":
                value.line = key.line  # its own mark may be that of the next key
            if key.text is None:
                self.problem(key.line, f"the key is {key.kind}", "a text")
            elif into.pairs is not None:
                into.pairs.append((key.text, value))


def _scalar(event: Any, line: int) -> Value:
    is_plain = not event.style
    if is_plain and event.value in ("", "~", "null", "Null", "NULL"):
        return Value(line=line, kind="empty")
    flag = event.value in TRUE if is_plain and event.value in TRUE + FALSE else None
    return Value(line=line, text=event.value, is_true=flag)
