"""R5: the context window of a conversation, and prompt caching."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core import context_window
from allstop.core.context_window import CachePricing, Window, WindowPolicy, WindowSpec
from allstop.core.prompt import CacheLifetime, part

TEXTS = st.lists(st.text(alphabet="ab ", min_size=0, max_size=3000), max_size=60)
SPECS = st.builds(
    lambda policy, items, more, tokens, more_tokens, edition: WindowSpec(
        policy=policy,
        items=items,
        items_max=items + more,
        tokens=tokens,
        tokens_max=tokens + more_tokens,
        edition=edition,
    ),
    st.sampled_from(WindowPolicy),
    st.integers(1, 12),
    st.integers(0, 20),
    st.integers(50, 4000),
    st.integers(0, 6000),
    st.sampled_from([1, 2]),
)


def filled(texts, spec, chars_a_token=4.0):
    window = Window()
    for text in texts:
        window = context_window.add(window, part(text), spec, chars_a_token)
        yield window


def test_r5_strict_sends_exactly_the_last_eight():
    spec = WindowSpec(policy=WindowPolicy.STRICT)
    *_, window = filled([f"item {n}" for n in range(30)], spec)

    assert [part.text for part in window.parts] == [f"item {n}" for n in range(22, 30)]


def test_r5_elastic_grows_to_24_and_is_cut_back_to_8():
    sizes = [len(window.parts) for window in filled(["x"] * 60, WindowSpec())]

    assert sizes[:24] == list(range(1, 25))
    assert sizes[24:41] == list(range(8, 25))
    assert sizes[41] == 8


@given(TEXTS, SPECS, st.floats(1.0, 8.0))
def test_r5_the_budget_is_never_exceeded_and_the_newest_is_never_lost(texts, spec, chars):
    """R5: for any items and any budget that has room for the note on a cut."""
    for text, window in zip(texts, filled(texts, spec, chars), strict=True):
        most = spec.tokens if spec.policy is WindowPolicy.STRICT else spec.tokens_max
        allowed = max(most * chars, 60 * spec.edition)
        assert window.chars == sum(len(part.text) for part in window.parts)
        assert window.digests == "".join(part.digest for part in window.parts)
        assert window.chars <= allowed
        shown = window.parts[-1].text
        assert shown == text or "left out" in shown


@pytest.mark.parametrize("policy", WindowPolicy)
@pytest.mark.parametrize("length", [9_000, 11_000, 12_000, 50_000])
@pytest.mark.parametrize("handoff", [20, 3_000, 20_000])
def test_r5_a_message_and_its_handoff_both_reach_the_next_agent(policy, length, handoff):
    spec = WindowSpec(policy=policy, edition=2)
    texts = ["old " * 2000, "m" * length, "h" * handoff]
    *_, window = filled(texts, spec)
    for seen in (window, context_window.newest(window, spec, 4.0)):
        message, last = (part.text for part in seen.parts[-2:])
        assert (message[:3], message[-3:]) == ("mmm", "mmm")
        assert (last[:3], last[-3:]) == ("hhh", "hhh")
        assert len(message) == length or "left out" in message


@given(TEXTS, SPECS)
def test_r5_the_front_is_byte_identical_between_cuts(texts, spec):
    before = Window()
    for after in filled(texts, spec):
        if after.cuts == before.cuts:
            assert after.parts[: len(before.parts)] == before.parts
        before = after


@given(st.lists(st.text(alphabet="ab ", max_size=100), min_size=30, max_size=60))
def test_r5_never_fewer_than_eight_while_the_budget_allows(texts):
    for number, window in enumerate(filled(texts, WindowSpec()), start=1):
        assert len(window.parts) >= min(8, number)


def test_r5_an_item_larger_than_the_budget_loses_its_middle():
    text = "begin " + "x" * 50_000 + " end"
    (window,) = filled([text], WindowSpec())

    shown = window.parts[0].text
    assert len(shown) <= 12_000
    assert shown.startswith("begin x")
    assert shown.endswith("x end")
    assert "[… 50,010 characters, the middle is left out …]" in shown


@pytest.mark.parametrize(("tokens", "expected"), [(0, 4.0), (-5, 4.0), (10**9, 4.0), (1, 4.0)])
def test_r5_absurd_reports_do_not_calibrate(tokens, expected):
    assert context_window.calibrated(4.0, 4000, tokens) == expected


def test_r5_reports_calibrate_the_estimate():
    chars = 4.0
    for _ in range(40):
        chars = context_window.calibrated(chars, 3000, 1000)

    assert chars == pytest.approx(3.0, abs=0.01)
    assert context_window.estimate(3000, chars) == pytest.approx(1000, abs=5)


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (None, CacheLifetime.MINUTES),
        (1, CacheLifetime.MINUTES),
        (3.9, CacheLifetime.MINUTES),
        (4, CacheLifetime.HOUR),
        (47, CacheLifetime.HOUR),
        (48, CacheLifetime.NONE),
    ],
)
def test_r5_the_lifetime_is_chosen_by_the_gap_between_calls(minutes, expected):
    gap_s = None if minutes is None else minutes * 60

    assert context_window.lifetime(CachePricing(), gap_s) is expected


def test_r5_a_small_room_with_a_long_least_front_is_not_remembered():
    """R5: caching would cost more than sending the last eight items uncached."""
    spec = WindowSpec()
    small = {"front": 400, "item": 150, "step": 2.0}

    assert context_window.is_growing_cheaper(
        spec, CachePricing(least=1024), CacheLifetime.MINUTES, **small
    )
    assert not context_window.is_growing_cheaper(
        spec, CachePricing(least=4096), CacheLifetime.MINUTES, **small
    )
    assert not context_window.is_growing_cheaper(spec, CachePricing(), CacheLifetime.NONE, **small)
    assert not context_window.is_growing_cheaper(
        spec, context_window.NO_CACHING, CacheLifetime.MINUTES, **small
    )
