"""The evidence for a review in the terminal, with the diff in syntax colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from allstop.cli.output import echo, in_words
from allstop.cli.safe_console import SafeConsole
from allstop.core.review_comments import Severity
from allstop.core.text import counted, money, one_line, plain
from allstop.views.evidence import Proof
from allstop.views.patch import LineKind, PatchFile, PatchLine, patch_files, side_by_side

if TYPE_CHECKING:
    from allstop.views.evidence import Criterion, Evidence, EvidenceFinding
    from allstop.views.reported_tests import ReportedTests
    from allstop.views.text_pairs import LinePair

SIGNS = {Severity.SERIOUS: "✗", Severity.LOOK: "!", Severity.NOTE: "·"}
COLOURS = {Severity.SERIOUS: "red", Severity.LOOK: "yellow", Severity.NOTE: None}
LONGEST_FILE = 1_500
"""Lines of a file that are shown; `allstop diff` shows all."""

SIDES_FROM = 140
"""The width of a terminal from which two columns are readable."""

GROUNDS = {LineKind.ADDED: Style(bgcolor="#12301f"), LineKind.REMOVED: Style(bgcolor="#381a18")}
SIGN_STYLES = {LineKind.ADDED: "bold green", LineKind.REMOVED: "bold red"}


def show_evidence(found: Evidence, *, in_columns: bool = False) -> None:
    """Print the evidence in the order of a review."""
    echo(f"{found.id}  {one_line(found.title, 200)}", bold=True)
    echo(f"{found.status} · {found.agent or 'no agent'} · {found.run}")
    _heading("Asked")
    echo(in_words(found.asked, "") if found.asked else "Only the title says what was asked.")
    for review in found.asked_later:
        when = f"{review.at.astimezone():%Y-%m-%d %H:%M}"
        echo(in_words(f"sent back {when}: {one_line(review.text, 500)}"))
    for declared in found.may_change:
        echo(f"may change: {one_line(declared, 300)}")
    shown = sum(criterion.is_shown for criterion in found.criteria)
    _heading(
        "Acceptance criteria", f"{shown} of {len(found.criteria)} shown" if found.criteria else ""
    )
    for criterion in found.criteria:
        _show_criterion(criterion)
    if not found.criteria:
        echo("The task names none.")
    _show_gate(found, in_columns=in_columns)
    _show_second(found)
    _show_changes(found, in_columns=in_columns)
    _heading("Said last")
    echo(in_words(found.said, "") or "Nothing.")
    _heading("Cost")
    cost = found.cost
    words = [money(cost.cost_usd, partial=cost.partial), f"{cost.tokens:,} tokens"]
    words += [counted(cost.turns, "turn"), counted(cost.attempts, "attempt")]
    echo(" · ".join([*words, f"{cost.seconds:,.0f} s at work"]))


def _heading(text: str, more: str = "") -> None:
    echo()
    echo(f"{text}  {more}".rstrip(), bold=True)


def _show_criterion(criterion: Criterion) -> None:
    sign, colour = ("✓", "green") if criterion.is_shown else ("?", "yellow")
    echo(in_words(f"{sign} {one_line(criterion.text, 300)}", "  "), fg=colour)
    for shown in criterion.shown_by:
        name = f"{shown.file}::{shown.test}" if shown.test else shown.file
        how = {Proof.PRESENT: "  (unchanged)", Proof.MISSING: "  (named, but not found)"}
        echo(f"    {plain(name)}{how.get(shown.proof, '')}{shown.result and f'  {shown.result}'}")
    if not criterion.shown_by:
        echo("    unknown")


def _show_gate(found: Evidence, *, in_columns: bool) -> None:
    _heading("Checks", f"on {found.verified_on}" if found.verified_on else "not run yet")
    for check in found.checks:
        sign, colour = ("✓", "green") if check.passed else ("✗", "red")
        tests = f", {count_tests(check.tests)}" if check.tests is not None else ""
        name = one_line(check.failure or check.name, 300)
        echo(f"{sign} {name} ({check.seconds:g} s){tests}", fg=colour)
        if check.tests is not None:
            _show_tests(check.tests)
        for line in check.output.splitlines():
            echo(f"    {plain(line)}")
    if (receipt := found.receipt) is not None:
        tools = ", ".join(f"{name}: {version}" for name, version in receipt.tools.items())
        words = [
            f"Receipt {receipt.digest[:12]} of tree {receipt.tree[:10]}",
            receipt.platform,
            tools,
        ]
        echo(in_words("; ".join(one_line(word, 300) for word in words if word)))
    _heading("Findings", "worst first" if found.findings else "")
    for finding in found.findings:
        _show_finding(finding, in_columns=in_columns)
    if not found.findings:
        echo("✓ None.", fg="green")


def count_tests(tests: ReportedTests) -> str:
    """ "412 passed, 1 failed, 0 skipped"."""
    red = f", {tests.red} failed" if tests.red else ""
    return f"{tests.passed} passed{red}, {tests.skipped} skipped"


def _show_tests(tests: ReportedTests) -> None:
    for test in tests.others:
        echo(f"    {test.result:<8} {one_line(test.id, 300)}")
    if tests.more:
        echo(f"    … and {tests.more} more")


VERDICTS = {"fail": " (fails the gate)", "ask": " (you decide)"}


def _show_finding(finding: EvidenceFinding, *, in_columns: bool) -> None:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    source = "" if finding.source == "gate" else f"{finding.source}: "
    verdict = VERDICTS.get(finding.verdict or "", "")
    text = f"{source}{one_line(finding.text, 500)}{verdict}"
    line = f"{SIGNS[finding.severity]} {finding.severity}  {text}"
    echo(in_words(f"{line}  {plain(place)}".rstrip()), fg=COLOURS[finding.severity])
    if finding.test:
        echo(f"    test: {one_line(finding.test, 300)}")
    if finding.declared:
        echo("    the task says that this may change")
    _show_pairs(finding.pairs, in_columns=in_columns)
    if finding.check:
        echo(in_words(f"    to check: {one_line(finding.check, 500)}"))


def _show_pairs(pairs: Sequence[LinePair], *, in_columns: bool) -> None:
    """The old text above the new one, or beside it."""
    console = SafeConsole()
    if not in_columns or console.width < SIDES_FROM:
        for line in (each.old for each in pairs if each.old not in (None, each.new)):
            echo(f"    - {plain(line or '')}", fg="red")
        for line in (each.new for each in pairs if each.new not in (None, each.old)):
            echo(f"    + {plain(line or '')}", fg="green")
        return
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    for each in pairs:
        same = each.old == each.new
        old, new = (Text(plain(text or "")) for text in (each.old, each.new))
        if not same and each.old is not None:
            old.stylize(GROUNDS[LineKind.REMOVED])
        if not same and each.new is not None:
            new.stylize(GROUNDS[LineKind.ADDED])
        table.add_row(old, new)
    console.print(table)


def _show_second(found: Evidence) -> None:
    if not found.second:
        return
    _heading("Second review", "the agents disagree" if found.stalemate else "")
    for each in found.second:
        said = each.error or f"{counted(each.findings, 'finding')}. {each.summary}"
        echo(in_words(f"{each.agent}: {one_line(said, 600)}"))
        if each.reply:
            echo(in_words(f"{found.agent} answered: {one_line(each.reply, 1000)}"))


# --- changes ---


def _show_changes(found: Evidence, *, in_columns: bool) -> None:
    changes = found.changes
    _heading("Changes", counted(len(changes.files), "file"))
    for file in changes.files:
        size = "binary" if file.added is None else f"+{file.added} -{file.removed}"
        echo(f"{file.risk:<8} {one_line(file.path, 300)}  {file.change}  {size}")
    show_patch(changes.patch, in_columns=in_columns)
    if changes.cut:
        echo(f"… shortened; all of it: git diff {changes.base[:10]} {changes.tip[:10]}")


def show_patch(patch: str, *, in_columns: bool = False) -> None:
    """Print a patch in syntax colours, in one column or side by side."""
    console = SafeConsole()
    in_columns = in_columns and console.width >= SIDES_FROM
    for file in patch_files(patch):
        console.print()
        console.print(Text(plain(file.path), style="bold underline"))
        lines = list(_coloured(file))
        if in_columns:
            console.print(_columns(file, dict(lines)))
            continue
        for line, text in lines[:LONGEST_FILE]:
            console.print(_numbered(line, text), soft_wrap=True)
        if len(lines) > LONGEST_FILE:
            console.print(Text(f"… {len(lines) - LONGEST_FILE:,} more lines", style="dim"))


def _coloured(file: PatchFile) -> Iterator[tuple[PatchLine, Text]]:
    """Each line of a file with its colours."""
    code = "\n".join("" if line.kind is LineKind.HUNK else plain(line.text) for line in file.lines)
    syntax = Syntax(code, Syntax.guess_lexer(file.path), theme="ansi_dark")
    yield from zip(file.lines, _highlighted(syntax, code), strict=False)


def _highlighted(syntax: Syntax, code: str) -> list[Text]:
    text = syntax.highlight(code)
    text.no_wrap = True
    return list(text.split("\n", allow_blank=True))


def _numbered(line: PatchLine, text: Text) -> Text:
    if line.kind is LineKind.HUNK:
        return Text.assemble(("  @@ ", "cyan"), (plain(line.text), "cyan"))
    numbers = f"{line.before or '':>5} {line.after or '':>5} "
    shown = Text.assemble((numbers, "dim"), (f"{line.kind} ", SIGN_STYLES.get(line.kind, "")), text)
    if ground := GROUNDS.get(line.kind):
        shown.stylize(ground, len(numbers))
    return shown


def _columns(file: PatchFile, texts: dict[PatchLine, Text]) -> Table:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(width=5, justify="right", style="dim")
    table.add_column(ratio=1, overflow="fold")
    table.add_column(width=5, justify="right", style="dim")
    table.add_column(ratio=1, overflow="fold")
    for left, right in list(side_by_side(file.lines))[:LONGEST_FILE]:
        table.add_row(
            f"{(left and left.before) or ''}",
            _cell(left, texts),
            f"{(right and right.after) or ''}",
            _cell(right, texts),
        )
    return table


def _cell(line: PatchLine | None, texts: dict[PatchLine, Text]) -> Text:
    if line is None:
        return Text()
    text = texts[line].copy()
    if ground := GROUNDS.get(line.kind):
        text.stylize(ground)
    return text
