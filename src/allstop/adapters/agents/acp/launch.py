"""How an agent is started: its command, its environment, and where it finds itself."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from allstop.adapters.agents.acp.acp_session import Wishes
from allstop.adapters.agents.acp.tools import PATIENT
from allstop.ports import Box, Launch

_SAYING_WHERE = 'pwd; exec "$@"'
"""A conversation is opened in a folder, by its whole path; only the box knows which that is."""


class Setup(Struct, frozen=True, kw_only=True):
    """What one agent is started with."""

    argv: tuple[str, ...]
    fallback_box: Box  # for turns without a workspace
    wishes: Wishes = Wishes()
    key: str = ""
    key_name: str = ""  # the variable it is from
    env: Mapping[str, str] = {}
    answer_within_s: float = 60.0  # a request; a turn may take as long as it is given
    flat_rate: bool = False

    def __repr__(self) -> str:
        return f"Setup({self.argv[0]})"


def launch_of(setup: Setup, place: Box | None, label: str) -> Launch:
    box = place or setup.fallback_box
    key = {setup.key_name: setup.key} if setup.key and setup.key_name else {}
    return Launch(
        argv=("sh", "-c", _SAYING_WHERE, "sh", *setup.argv),
        box=box,
        label=label,
        env={**box.env, "TZ": "UTC", **PATIENT, **setup.env, **key},
        programs=(setup.argv[0],),
        errors_late=True,
    )
