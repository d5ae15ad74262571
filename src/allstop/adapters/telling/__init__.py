"""Ways to reach a person: webhooks, apprise, the desktop, the bell of a terminal."""

from allstop.adapters.telling.bell import Bell as Bell
from allstop.adapters.telling.desktop import Desktop as Desktop
from allstop.adapters.telling.desktop import find_desktop as find_desktop
from allstop.adapters.telling.post import Post as Post
from allstop.adapters.telling.post import deliver as deliver
from allstop.adapters.telling.services import Service as Service
from allstop.adapters.telling.webhook import Webhook as Webhook
