"""A Rich console that shows text as it is: no markup, no emoji codes, no escape sequences."""

from typing import Any

from rich.console import Console
from rich.text import Text

from allstop.core.text import plain


class SafeConsole(Console):
    """Makes every string safe before its width is measured, also strings in tables."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(plain(text), **options)
