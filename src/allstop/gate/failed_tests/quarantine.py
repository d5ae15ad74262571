"""Changes of `[verification] quarantine`, which a person decides about.

A gate takes the list from the target's settings and from the person's own, never from the work, so
a line that the work adds counts only once it is merged.
"""

import tomllib
from collections.abc import Iterator

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import counted, one_line

SHOWN = 3


def findings(path: str, before: str, after: str) -> Iterator[Finding]:
    """What the settings file at `path` quarantines that it did not before."""
    known = _listed(before)
    added = [test for test in dict.fromkeys(_listed(after)) if test not in known]
    if not added:
        return
    names = one_line(", ".join(added[:SHOWN]), 300)
    more = f" and {len(added) - SHOWN} more" if len(added) > SHOWN else ""
    yield Finding(
        kind="quarantine",
        path=path,
        text=f"quarantines {counted(len(added), 'test')}: {names}{more}",
        verdict=Verdict.ASK,
        to_agent=f"take the tests that you added out of `quarantine` in {path}: a person does that",
    )


def _listed(text: str) -> list[str]:
    try:
        verification = tomllib.loads(text.removeprefix("\ufeff")).get("verification")
    except (tomllib.TOMLDecodeError, RecursionError):
        return []  # settings that can't be read are a finding of their own
    found = verification.get("quarantine") if isinstance(verification, dict) else None
    return [test for test in found if isinstance(test, str)] if isinstance(found, list) else []
