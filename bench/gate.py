"""Q24: attacks on the gate that are caught, honest changes that are not, and the time it takes.

Puts each case of tests/corpus/gate whose programs this machine has before the real gate, with real
boxes: pytest, unittest, node:test, Go, Rust, and jest and vitest from the folder that
GATE_NODE_MODULES names. A class is caught if each of its cases ends in a question or a failure.

V12: the time beside that of the checks alone, on real repositories. Each is a clone on this machine
whose latest commits with product code and tests are put before the gate:

    bench/gate.py --only-times --repository ~/click "PYTHONPATH=src python -m pytest -q"

Without one, this project's own commits are taken.

Q24: real commits that are asked about. `--replay` puts the latest commits of such clones that change
code before the gate and says what it finds. `--declared` names a file with what their tasks would
have declared, written from the messages alone: {"commit": ["tests/test_x.py", "behaviour of y"]}.

Prints figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import anyio

from common import figure, sized
from support import gate_corpus, gate_history, gate_programs, gate_runs

WORKERS = sized(2, 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "ecosystems",
        nargs="*",
        default=gate_corpus.ECOSYSTEMS[: sized(len(gate_corpus.ECOSYSTEMS), 1)],
    )
    parser.add_argument(
        "--every", type=int, default=sized(1, 1000), help="take only every n-th case"
    )
    parser.add_argument("--all", action="store_true", help="print each case")
    parser.add_argument("--repository", nargs=2, action="append", metavar=("CLONE", "RUN"))
    parser.add_argument(
        "--commits", type=int, default=sized(10, 0), help="of each repository; 0: no times"
    )
    parser.add_argument("--read", action="append", default=[], help="a path that checks may read")
    parser.add_argument("--only-times", action="store_true", help="without the corpus")
    parser.add_argument("--replay", action="store_true", help="only what is found in the commits")
    parser.add_argument("--declared", type=Path, help="what the tasks of commits declared, as JSON")
    arguments = parser.parse_args()
    settings = f"[sandbox]\nread = {json.dumps(arguments.read)}" if arguments.read else ""
    if arguments.replay:
        _replay(arguments, settings)
        return
    if not arguments.only_times:
        _corpus(arguments)
    for clone, run in (arguments.repository or [("", "")]) if arguments.commits else ():
        _times_beside_plain(clone, run, arguments.commits, settings)


def _corpus(arguments: argparse.Namespace) -> None:
    cases = [case for name in arguments.ecosystems for case in gate_corpus.read(name)]
    left_out = sorted({name for case in cases for name in gate_programs.lacking(case)})
    cases = [case for case in cases if not gate_programs.lacking(case)][:: arguments.every]
    jobs = [(case, True) for case in cases]
    jobs += [(case, False) for case in cases if not case.family and case.may_change]
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        outcomes = list(pool.map(_judged, jobs))
    found = [(case, declared, out) for (case, declared), out in zip(jobs, outcomes, strict=True)]
    print(f"Q24 {len(cases)} cases; not on this machine: {', '.join(left_out) or 'nothing'}")
    _attacks([(case, out) for case, _, out in found if case.family], each=arguments.all)
    _honest([entry for entry in found if not entry[0].family])
    _time([out for _, _, out in found])


def _judged(job: tuple[Any, bool]) -> Any:
    case, declared = job
    with tempfile.TemporaryDirectory(prefix="gate") as folder:
        return anyio.run(lambda: gate_runs.judge(case, Path(folder), declared=declared))


def _attacks(found: list[tuple[Any, Any]], *, each: bool) -> None:
    by_family, by_class = defaultdict(list), defaultdict(list)
    for case, out in found:
        by_family[case.family].append(out.is_caught)
        by_class[case.name].append(out.is_caught)
        if each or not out.is_caught:
            words = "; ".join(f"{item.verdict}: {item.kind} {item.path}" for item in out.findings)
            print(f"    {case.id:<46} {out.word:<7} {words[:120]}")
    for family, caught in sorted(by_family.items()):
        print(f"    {family:<12} {sum(caught)} of {len(caught)} caught")
    whole = [all(caught) for caught in by_class.values()]
    if whole:
        share = f"{sum(whole) / len(whole):.0%}"
        print(f"    {sum(whole)} of {len(whole)} classes caught, {share}")
        figure("Q24 classes of attacks caught", share, goal="90 %")


def _honest(found: list[tuple[Any, bool, Any]]) -> None:
    for case, declared, out in found:
        if out.is_caught:
            words = "; ".join(f"{item.verdict}: {item.kind} {item.path}" for item in out.findings)
            how = "" if declared else " (not declared)"
            print(f"    {case.id + how:<46} {out.word:<7} {words[:120]} {out.problem[-200:]}")
    with_declaration = [out for _, declared, out in found if declared]
    undeclared = {case.id: out for case, declared, out in found if not declared}
    without = [undeclared.get(case.id, out) for case, declared, out in found if declared]
    for name, outs in (("declared", with_declaration), ("not declared", without)):
        failed = sum(out.word == "fail" for out in outs)
        asked = sum(out.word == "ask" for out in outs)
        print(f"    {len(outs)} honest changes, {name}: {failed} fail, {asked} are asked about")
        figure(f"Q24 honest changes that fail or ask, {name}", f"{failed} + {asked} of {len(outs)}")


def _times_beside_plain(clone: str, run: str, most: int, settings: str) -> None:
    """One after the other, so that no run slows another one down."""
    at = Path(clone).resolve() if clone else gate_history.ROOT
    sample = gate_history.commits_of(at, run, 5 * most) if clone else gate_history.commits(most)
    name = at.name if clone else "this project"
    found = []
    for commit in sample:
        with tempfile.TemporaryDirectory(prefix="gate") as folder:
            times = anyio.run(gate_runs.times_of, commit, Path(folder), settings)
        found += [times] if times else []
        if len(found) == most:
            break
    print(f"V12 {name}: {len(found)} commits whose checks pass")
    if found:
        whole = median(each.whole / each.plain for each in found)
        again = median(each.again / each.plain for each in found)
        print(f"    the checks alone take {median(each.plain for each in found):.1f} s (median)")
        print(f"    the whole gate takes {again:.2f} times that, {whole:.2f} on a new target")
        figure(f"V12 time of the gate beside plain checks, {name}", f"{again:.2f}", goal="1.5")


def _replay(arguments: argparse.Namespace, settings: str) -> None:
    declared = json.loads(arguments.declared.read_text()) if arguments.declared else {}
    outcomes: list[_Replayed] = []
    for clone, run in arguments.repository:
        commits = gate_history.commits_of(
            Path(clone).resolve(), run, arguments.commits, any_code=True
        )
        jobs = [(each, declared.get(each.name, ()), settings) for each in commits]
        with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
            found = [each for each in pool.map(_replayed, jobs) if each is not None]
        failing = len(jobs) - len(found)
        print(f"Q24 {Path(clone).name}: {len(found)} commits; {failing} fail their own checks")
        outcomes += found
    both = [each for each in outcomes if each.changes_both]
    for name, group in (("commits to code", outcomes), ("to product and tests", both)):
        print(f"    {_shares(name, [each.undeclared for each in group])}")
        if declared:
            print(f"    {_shares(name + ', declared', [each.declared for each in group])}")


class _Replayed(NamedTuple):
    changes_both: bool  # product code and tests
    undeclared: str
    declared: str


def _replayed(job: tuple[Any, Any, str]) -> _Replayed | None:
    """What the gate says without the declaration and, if it says something, with it."""
    commit, may_change, settings = job
    words = []
    for given in ((), may_change) if may_change else ((),):
        with tempfile.TemporaryDirectory(prefix="gate") as folder:
            out = anyio.run(gate_runs.judge_commit, commit, Path(folder), given, settings)
        if out.problem or not out.results:
            return None
        words.append(out.word)
        if not out.is_caught:
            break
        how = " (declared)" if given else ""
        print(f"    {commit.name[:10]} {out.word}{how}: {commit.subject[:70]}")
        for item in out.findings:
            if item.verdict in ("ask", "fail"):
                print(f"        {item.verdict}: {item.kind} {item.path}: {item.text[:200]}")
    return _Replayed(bool(commit.tests) and commit.has_product, words[0], words[-1])


def _shares(name: str, words: list[str]) -> str:
    counts = {word: words.count(word) for word in ("fail", "ask")}
    total = max(len(words), 1)
    shares = ", ".join(f"{n} {word} ({n / total:.1%})" for word, n in counts.items())
    figure(f"Q24 {name}: fail, ask", f"{counts['fail']} + {counts['ask']} of {len(words)}")
    return f"{len(words)} {name}: {shares}"


def _time(outs: list[Any]) -> None:
    timed = [(out.seconds, sum(result.seconds for result in out.results)) for out in outs]
    ratios = sorted(whole / plain for whole, plain in timed if plain)
    if ratios:
        median = ratios[len(ratios) // 2]
        print(f"    the whole gate takes {median:.1f} times its own commands (median)")
        figure("Q24 time of the gate, beside its commands alone", f"{median:.1f}", goal="1.5")


if __name__ == "__main__":
    main()
