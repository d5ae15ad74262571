"""Notification channels: webhooks, apprise, the desktop, the terminal's bell."""

from allstop.adapters.notify.apprise_services import Service as Service
from allstop.adapters.notify.delivery import Delivery as Delivery
from allstop.adapters.notify.delivery import deliver as deliver
from allstop.adapters.notify.desktop import Desktop as Desktop
from allstop.adapters.notify.desktop import find_desktop as find_desktop
from allstop.adapters.notify.terminal_bell import Bell as Bell
from allstop.adapters.notify.webhook import Webhook as Webhook
