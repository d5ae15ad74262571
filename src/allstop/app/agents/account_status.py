"""The accounts of the configured agents, with what their stream tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.registry import account_names, by_account
from allstop.core.ids import ACCOUNTS
from allstop.views.accounts import AccountState, AccountView, Ledger, account_view, fold, hold_of

if TYPE_CHECKING:
    from allstop.app.project import Project


async def read_accounts(project: Project) -> list[AccountView]:
    if not project.has_store:
        return known_accounts(project, {})
    records = await project.records.read(ACCOUNTS)
    return known_accounts(project, fold({}, (record.event for record in records)))


def known_accounts(project: Project, ledger: Ledger) -> list[AccountView]:
    """The accounts of the settings in order, then others that still have a hold."""
    now = project.clock.now()
    agents: dict[str, list[str]] = {}
    for name, settings in project.settings.agents.items():
        for each in by_account(project, name, settings):
            agents.setdefault(account_names(project, name, each).name, []).append(name)
    held = [name for name, state in ledger.items() if hold_of(state, now) is not None]
    return [
        account_view(name, agents.get(name, ()), ledger.get(name, AccountState()), now)
        for name in dict.fromkeys((*agents, *held))
    ]
