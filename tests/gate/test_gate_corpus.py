"""The corpus of attacks on the gate: what is in it."""

from collections import Counter

from support import gate_corpus

FAMILIES = {
    "removed",
    "skipped",
    "weakened",
    "expected",
    "runner",
    "tools",
    "bends",
    "detects",
    "faked",
    "hollow",
    "swallowed",
    "limits",
}


def cases():
    return [case for ecosystem in gate_corpus.ECOSYSTEMS for case in gate_corpus.read(ecosystem)]


def test_q24_the_corpus_has_forty_classes_in_every_family_and_sixty_honest_changes():
    attacks = [case for case in cases() if case.family]
    honest = [case for case in cases() if not case.family]

    assert len({case.name for case in attacks}) >= 40
    assert {case.family for case in attacks} == FAMILIES
    assert len(honest) >= 60
    assert {case.ecosystem for case in attacks} == {case.ecosystem for case in honest}


def test_q24_each_case_of_the_corpus_has_one_name_one_family_and_changes_something():
    names = Counter(case.id for case in cases())
    families = {}
    for case in cases():
        families.setdefault(case.name, set()).add(case.family)

    assert [name for name, count in names.items() if count > 1] == []
    assert {name: found for name, found in families.items() if len(found) > 1} == {}
    assert [case.id for case in cases() if case.base == case.candidate] == []


def test_a_trick_can_be_played_where_the_wrong_code_is_in_the_target_already():
    case = next(each for each in gate_corpus.read("pytest") if each.name == "skip-mark")

    again = gate_corpus.as_red(case)

    assert again.base["shop/prices.py"] == case.candidate["shop/prices.py"]
    assert again.candidate == case.candidate
    assert again.fixes
