"""Ways to reach a person: webhooks, apprise, the desktop, the bell of a terminal."""

from allstop.adapters.notify.apprise_services import Service as Service
from allstop.adapters.notify.delivery import Post as Post
from allstop.adapters.notify.delivery import deliver as deliver
from allstop.adapters.notify.desktop import Desktop as Desktop
from allstop.adapters.notify.desktop import find_desktop as find_desktop
from allstop.adapters.notify.terminal_bell import Bell as Bell
from allstop.adapters.notify.webhook import Webhook as Webhook
