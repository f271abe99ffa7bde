"""The colours of the conversation, by the chosen theme and the background of the terminal."""

from typing import TYPE_CHECKING

from robota.clients.tui.theme import Background
from robota.protocol.appearance import ON_ANY_BACKGROUND, Appearance

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation


class Looks:
    """Keeps the chosen theme and the terminal's background; both determine the colours."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation
        self._background: Background | None = None
        self._has_asked = False
        self._chosen = conversation.setup.status.appearance
        self._shown = self._chosen

    @property
    def reduces_motion(self) -> bool:
        """Whether to draw only finished output, without animation."""
        return self._chosen.reduces_motion

    def begin(self) -> None:
        """Ask the terminal for its background, if the theme depends on it."""
        if self._shown.theme in ON_ANY_BACKGROUND and self._conversation.setup.asks_background and not self._has_asked:
            self._has_asked = True
            self._conversation.region.ask_background(self._background_told)

    def choose(self, appearance: Appearance) -> None:
        """Use this theme from now on."""
        self._chosen = appearance
        self._conversation.status.appearance = appearance
        self._show(appearance)

    def try_out(self, appearance: Appearance | None) -> None:
        """Preview this theme; None ends the preview."""
        self._show(appearance or self._chosen)

    def _show(self, appearance: Appearance) -> None:
        self._shown = appearance
        self._paint()
        self.begin()

    def _background_told(self, background: Background) -> None:
        self._background = background
        self._paint()

    def _paint(self) -> None:
        conversation = self._conversation
        if conversation.setup.palette is not None:
            conversation.theme.palette = conversation.setup.palette(self._shown, self._background)
            conversation.draw_soon()
