"""Dilution: what makes checks say less than before, in one line each, and never a failure."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import IntEnum

from msgspec import Struct

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate.assertions import Assertion, Strength, assertions, strength
from allstop.gate.facts import ChangedFile, Facts
from allstop.gate.intent import is_declared
from allstop.gate.path_kinds import is_code, is_test, is_test_material
from allstop.gate.test_signs import ENDS, Sign, signs

MOST = 40
"""How many are shown; the worst come first."""

MOST_CHARS = 1_000_000
"""Of both versions of all files; the others are not compared."""

LINE_CHARS = 160
ALIKE = 0.5
"""From here on, two assertions of a test are taken for the old and the new form of one."""

COMPARED = 12
"""Changed assertions of a test that are compared in pairs, after those that differ in literals."""


class Weight(IntEnum):
    """The order in which dilutions are shown, the worst first."""

    TEST_AWARE = 0
    CHECKS_NOTHING = 1
    WEAKER = 2
    EXPECTATION = 3
    LIMIT = 4
    SWALLOWED = 5
    SUPPRESSED = 6


class Dilution(Struct, frozen=True, gc=False, kw_only=True):
    weight: Weight
    path: str
    what: str  # in a few words
    old: str = ""
    new: str = ""
    line: int = 0  # of the new version; 0: unknown

    @property
    def text(self) -> str:
        """All of it in one line."""
        if self.old and self.new:
            return f"{self.what}: {self.old} → {self.new}"
        return f"{self.what}: {self.old or self.new}" if self.old or self.new else self.what


def dilutions(
    changes: Iterable[ChangedFile], may_change: Collection[str] = ()
) -> tuple[Dilution, ...]:
    """What a change dilutes, the worst first. Declared expectations aren't listed."""
    readable = list(_within_budget(change for change in changes if change.is_readable))
    elsewhere = _added_assertions(readable)
    found = [
        each
        for change in readable
        for each in (*_of_tests(change, elsewhere, may_change), *_of_lines(change))
    ]
    return tuple(sorted(found, key=lambda each: (each.weight, each.path, each.line))[:MOST])


def concerns(path: str) -> bool:
    """Whether a change of such a file can dilute anything."""
    return is_code(path) or bool(_GOLDEN.search(path) or _CONFIGURES.search(path))


def _within_budget(changes: Iterable[ChangedFile]) -> Iterator[ChangedFile]:
    left = MOST_CHARS
    for change in changes:
        chars = len(change.before or "") + len(change.after or "")
        if chars <= left:
            left -= chars
            yield change


# --- assertions ---


def _added_assertions(changes: Sequence[ChangedFile]) -> Counter[str]:
    """The new assertions of all test files: a moved one is not removed."""
    added: Counter[str] = Counter()
    for change in changes:
        if is_test(change.path) and change.after is not None:
            after = assertions(change.path, change.after)
            before = assertions(change.old_path or change.path, change.before or "")
            added.update(each.text for each in _without(after, before))
    return added


def _of_tests(
    change: ChangedFile, elsewhere: Counter[str], may_change: Collection[str]
) -> Iterator[Dilution]:
    is_covered = is_declared(tuple(may_change), change.path)
    if change.after is None:
        return
    if _is_golden(change) and not is_covered:
        yield _golden(change)
    if not is_test(change.path):
        return
    after = assertions(change.path, change.after)
    before = assertions(change.old_path or change.path, change.before or "")
    known = Counter(each.text for each in before)
    for each in after:
        if strength(each.text) is Strength.NOTHING and not known[each.text]:
            yield _assertion(Weight.CHECKS_NOTHING, change, "checks nothing", new=each)
    old_ones, new_ones = _by_test(before), _by_test(after)
    for test, old in old_ones.items():
        declared = is_covered or is_declared(tuple(may_change), change.path, test)
        new = new_ones.get(test, [])
        if new or not test:  # a test that is gone is not diluted; the reports tell
            yield from _compared(change, old, new, elsewhere, declared=declared)


def _by_test(found: Iterable[Assertion]) -> dict[str, list[Assertion]]:
    by_test: dict[str, list[Assertion]] = {}
    for each in found:
        by_test.setdefault(each.test, []).append(each)
    return by_test


def _compared(
    change: ChangedFile,
    before: Sequence[Assertion],
    after: Sequence[Assertion],
    elsewhere: Counter[str],
    *,
    declared: bool,
) -> Iterator[Dilution]:
    """Compare the assertions of one test that were changed, each with the new one most like it."""
    for old, alike in _pairs(_without(before, after), _without(after, before)):
        if alike is None:
            says_something = strength(old.text) is not Strength.NOTHING
            if says_something and not elsewhere[old.text] and not declared:
                yield _assertion(Weight.WEAKER, change, "assertion removed", old=old)
            continue
        if what := _weaker(old.text, alike.text):
            yield _assertion(Weight.WEAKER, change, what, old=old, new=alike)
        elif not declared and _shape(old.text) == _shape(alike.text):
            what = "expected value changed"
            yield _assertion(Weight.EXPECTATION, change, what, old=old, new=alike)


def _pairs(
    removed: Sequence[Assertion], added: Sequence[Assertion]
) -> Iterator[tuple[Assertion, Assertion | None]]:
    """Each old assertion with its new form: first those that only differ in literals."""
    by_shape: dict[str, list[Assertion]] = {}
    for each in added:
        by_shape.setdefault(_shape(each.text), []).append(each)
    left: list[Assertion] = []
    for old in removed:
        alike = by_shape.get(_shape(old.text))
        if alike:
            yield old, alike.pop(0)
        else:
            left.append(old)
    others = [each for some in by_shape.values() for each in some][:COMPARED]
    for old in left[:COMPARED] if others else left:
        alike_one = _most_like(old, others)
        if alike_one is not None:
            others.remove(alike_one)
        yield old, alike_one


def _without(some: Sequence[Assertion], others: Sequence[Assertion]) -> list[Assertion]:
    left = Counter(each.text for each in others)
    kept = []
    for each in some:
        if left[each.text]:
            left[each.text] -= 1
        else:
            kept.append(each)
    return kept


def _most_like(old: Assertion, others: Sequence[Assertion]) -> Assertion | None:
    """The assertion that is most like another, if it is like it at all."""
    best, found = ALIKE, None
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(old.text)  # what it knows of this one is used for all others
    for other in others:
        matcher.set_seq1(other.text)
        if matcher.real_quick_ratio() < best or matcher.quick_ratio() < best:
            continue
        if (ratio := matcher.ratio()) > best or (found is None and ratio == best):
            best, found = ratio, other
    return found


def _weaker(old: str, new: str) -> str:
    before, after = strength(old), strength(new)
    if after < before and after is not Strength.NOTHING:
        return "weaker assertion"
    loosened = _loosened(old, new, _TOLERANCES)
    return f"tolerance {loosened}" if loosened else ""


_LITERALS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|-?\b\d[\d_.eE]*\b|\b[Tt]rue\b|\b[Ff]alse\b|\bNone\b|\bnull\b|\bnil\b")  # fmt: skip


def _shape(text: str) -> str:
    """An assertion without its literals."""
    return _LITERALS.sub("…", text)


def _assertion(
    weight: Weight,
    change: ChangedFile,
    what: str,
    *,
    old: Assertion | None = None,
    new: Assertion | None = None,
) -> Dilution:
    return Dilution(
        weight=weight,
        path=change.path,
        what=what,
        old=one_line(old.text, LINE_CHARS) if old else "",
        new=one_line(new.text, LINE_CHARS) if new else "",
        line=new.line if new else 0,
    )


# --- golden files ---

_GOLDEN = re.compile(
    r"(^|/)(__snapshots__|snapshots?|goldens?|expected|approved|baselines?|cassettes)/"
    r"|\.(snap|golden|expected|approved(\.\w+)?|ambr|stdout|stderr)$"
    r"|(^|/)(testdata|fixtures)/.*\b(golden|expected|want|out(put)?)\b",
    re.IGNORECASE,
)


def _is_golden(change: ChangedFile) -> bool:
    return bool(change.before) and not is_test(change.path) and bool(_GOLDEN.search(change.path))


def _golden(change: ChangedFile) -> Dilution:
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    at = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    if at is None:
        at = min(len(old), len(new))
    return Dilution(
        weight=Weight.EXPECTATION,
        path=change.path,
        what="golden file changed",
        old=one_line(old[at].strip(), LINE_CHARS) if at < len(old) else "",
        new=one_line(new[at].strip(), LINE_CHARS) if at < len(new) else "",
        line=at + 1 if at < len(new) else 0,
    )


# --- lines ---

_NUMBER = r"[\"']?\s*[:=(\s]\s*[\"']?(?P<number>-?\d+(?:\.\d+)?(?:[eE]-?\d+)?)"
_AT_LEAST = re.compile(
    rf"(?P<key>fail[_-]under|min(?:imum)?[_-]?(?:coverage|score)|break|places|decimal)\b{_NUMBER}"
    r"|(?P<close>toBeCloseTo\([^,()]*(?:\([^()]*\)[^,()]*)*),\s*(?P<digits>\d+)"
)
_COVERAGE_KEYS = re.compile(rf"\b(?P<key>branches|functions|lines|statements)\b{_NUMBER}")
_AT_MOST = re.compile(
    rf"(?P<key>max[_-]?(?:warnings|complexity|failures|errors)|reruns|retries|retry)\b{_NUMBER}"
)
_TOLERANCES = (
    (re.compile(rf"\b(?P<key>abs|rel|delta|atol|rtol|tolerance|tol|epsilon|eps)\b{_NUMBER}"), 1),
    (_AT_LEAST, -1),
)
_LIMITS = (
    (_AT_LEAST, -1),
    (_COVERAGE_KEYS, -1),
    (_AT_MOST, 1),
    (_TOLERANCES[0][0], 1),
)
_CONFIGURES = re.compile(
    r"(^|/)(\.github/|\.gitlab-ci|\.circleci/|Makefile|.*\.(toml|cfg|ini|ya?ml|json|mk|sh)$"
    r"|(jest|vitest|nyc|c8|karma|stryker)\.conf.*|\.\w*rc(\.\w+)?$)",
    re.IGNORECASE,
)

_CI = re.compile(
    r"continue-on-error:\s*true|\ballow_failure:\s*true|\bif:\s*false\b|\|\|\s*(true|:|exit 0)\s*$"
    r"|^\s*set \+e\b|--passWithNoTests|--exit-zero|--no-error-on|ignoreErrors|^\t-\s*\w+.*test"
)
_SUPPRESSIONS = re.compile(
    r"#\s*(noqa|nosec|type:\s*ignore|pyright:\s*ignore|pylint:\s*disable|pragma:\s*no (cover|mutate))"
    r"|(//|/\*)\s*(eslint-disable|@ts-(ignore|expect-error|nocheck)|(istanbul|c8|v8) ignore|biome-ignore)"
    r"|//\s*nolint|#!?\[allow\(|#\[cfg\(not\((tarpaulin|coverage)"
)
_REASON = re.compile(r"(--|—|:|#|//|because|see)\s*[A-Za-z][^\]:]*\s\w+.*$")
_ERROR_DROPPED = re.compile(r"^\s*_\s*(,\s*_\s*)?:?=\s*\w[\w.]*\(|^\s*let _ = .*\(|\.ok\(\);|\bcontextlib\.suppress\((Base)?Exception\)|\bsuppress\((Base)?Exception\)|\.catch\(\s*\(?\w*\)?\s*=>\s*(\{\s*\}|null|undefined)\s*\)")  # fmt: skip
_SWALLOWED = re.compile(
    r"^[ \t]*except[^\n]*:[ \t]*(#[^\n]*)?(\n[ \t]*#[^\n]*)*\n?[ \t]*(pass|continue|\.\.\.|return( None| False| True)?)[ \t]*$"
    r"|catch[ \t]*(\([^)]*\))?[ \t]*\{\s*(//[^\n]*\n\s*)*\}"
    r"|if err != nil \{\s*(//[^\n]*\n\s*)*(return nil\s*)?\}"
    r"|Err\(_\)\s*=>\s*(\{\s*\}|\(\))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"^\s*(#(?!!?\[)|//|\*)")


def _of_lines(change: ChangedFile) -> Iterator[Dilution]:
    if change.after is None:
        return
    lines = change.after.splitlines()
    before = (change.before or "").splitlines()
    known = Counter(line.strip() for line in before)
    is_product = is_code(change.path) and not is_test(change.path)
    is_product = is_product and not is_test_material(change.path)
    is_product = is_product and not change.path.endswith("conftest.py")
    configures = bool(_CONFIGURES.search(change.path))
    rewritten = _signs_of_removed(before, lines) if is_product else Counter()
    for number, line in enumerate(lines, 1):
        if known[line.strip()]:
            known[line.strip()] -= 1
            continue
        for sign in signs(lines, number) if is_product else ():
            if rewritten[sign]:
                rewritten[sign] -= 1
            else:
                yield _line(Weight.TEST_AWARE, change, sign.what, line, number)
        if configures and _CI.search(line):
            yield _line(Weight.LIMIT, change, "failure ignored", line, number)
        if is_code(change.path):
            yield from _of_code_line(change, line, number)
    if change.before is not None:
        yield from _limits(change, everywhere=configures)
    if is_product:
        yield from _swallowed(change)


def _signs_of_removed(before: Sequence[str], after: Sequence[str]) -> Counter[Sign]:
    """The signs in lines that are gone: a line with the same one only has another form."""
    left = Counter(line.strip() for line in after)
    found: Counter[Sign] = Counter()
    for number, line in enumerate(before, 1):
        if left[line.strip()]:
            left[line.strip()] -= 1
        else:
            found.update(signs(before, number))
    return found


def _of_code_line(change: ChangedFile, line: str, number: int) -> Iterator[Dilution]:
    found = _SUPPRESSIONS.search(line[:1000])
    if found and not _REASON.search(line[found.end() : 1000]):
        yield _line(Weight.SUPPRESSED, change, "suppression without a reason", line, number)
    if not is_test(change.path) and not _COMMENT.match(line) and _ERROR_DROPPED.search(line[:1000]):
        yield _line(Weight.SWALLOWED, change, "error dropped", line, number)


def _line(weight: Weight, change: ChangedFile, what: str, line: str, number: int) -> Dilution:
    shown = one_line(line.strip(), LINE_CHARS)
    return Dilution(weight=weight, path=change.path, what=what, new=shown, line=number)


def _swallowed(change: ChangedFile) -> Iterator[Dilution]:
    after, before = change.after or "", change.before or ""
    known = Counter(_squeezed(each.group()) for each in _SWALLOWED.finditer(before))
    for found in _SWALLOWED.finditer(after):
        text = _squeezed(found.group())
        if known[text]:
            known[text] -= 1
            continue
        number = after.count("\n", 0, found.start()) + 1
        yield _line(Weight.SWALLOWED, change, "error swallowed", text, number)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _limits(change: ChangedFile, *, everywhere: bool) -> Iterator[Dilution]:
    """Thresholds that were loosened, in configuration."""
    if not everywhere:
        return
    loosened = _loosened(change.before or "", change.after or "", _LIMITS)
    if loosened:
        yield Dilution(weight=Weight.LIMIT, path=change.path, what=f"threshold {loosened}")


def _loosened(before: str, after: str, rules: Sequence[tuple[re.Pattern[str], int]]) -> str:
    """The first number that was loosened, such as "fail_under 90 → 60"."""
    for form, looser in rules:
        old, new = _numbers(form, before), _numbers(form, after)
        for key in old:
            for was, now in zip(old[key], new.get(key, []), strict=False):
                if (now - was) * looser > 0:
                    return f"{key} {was:g} → {now:g}"
    return ""


def _numbers(form: re.Pattern[str], text: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for each in form.finditer(text[:200_000]):
        groups = each.groupdict()
        key = groups.get("key") or "digits"
        number = groups.get("number") or groups.get("digits")
        if number is not None:
            found.setdefault(key, []).append(float(number))
    return found


def notes(facts: Facts) -> Iterator[Finding]:
    """The dilutions as findings for reviewers.

    Product code that notices tests is the exception: only a person can tell what it is for, and it
    passes every run that is compared with another.
    """
    for each in dilutions(facts.changes, facts.intent.may_change):
        asks = each.weight is Weight.TEST_AWARE and each.what != ENDS
        yield Finding(
            kind="test_aware" if asks else "dilution",
            path=each.path,
            line=each.line,
            text=each.what,
            verdict=Verdict.ASK if asks else Verdict.NOTE,
            to_agent=f"{each.path} must not depend on tests: {each.text}" if asks else "",
            old=each.old,
            new=each.new,
        )
