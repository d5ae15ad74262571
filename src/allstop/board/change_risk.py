"""The risk class of each changed file: guarded files, product code, tests, the rest."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from allstop.core.moves import Finding
from allstop.gate.path_kinds import is_code, is_test, is_test_material, matches


class Risk(StrEnum):
    """What a changed file is, the riskiest first."""

    GUARDED = "guarded"  # protected, or a finding names it
    PRODUCT = "product"
    TEST = "test"
    REST = "rest"


def risk_of(path: str, *, added: bool, guarded: Sequence[str], found: Iterable[Finding]) -> Risk:
    """The risk of a changed file. `guarded` are the gate's patterns; an added test isn't guarded."""
    if any(finding.path == path for finding in found):
        return Risk.GUARDED
    if matches(path, guarded) and not (added and is_test_material(path)):
        return Risk.GUARDED
    if is_test(path) or is_test_material(path):
        return Risk.TEST
    return Risk.PRODUCT if is_code(path) else Risk.REST
