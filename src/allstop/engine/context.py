"""The engine context: the objects that all drives of a process share."""

from collections.abc import Callable
from typing import NamedTuple

from allstop.core.asks import Ask
from allstop.core.ids import AgentName, RunId
from allstop.core.run import OpenMove
from allstop.engine.budgets import Budgets
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.hands import Hands
from allstop.engine.helm_reader import HelmReader
from allstop.engine.slots import Slots
from allstop.ports import Clock, Journal, Live


class EngineContext(NamedTuple):
    journal: Journal
    hands: Hands
    clock: Clock
    helm_reader: HelmReader
    turn_slots: Slots
    budgets: Budgets
    show: Callable[[RunId, Live], None]
    daily_budget: DailyBudget
    appraise: Callable[[Ask, OpenMove | None], Ask]  # adds the policy's verdict
    most_microusd: Callable[[AgentName, int], int]  # maximum cost of an agent's tokens
