"""The history of sent prompts, and the position in it."""

from collections.abc import Iterable
from typing import Final

import msgspec

from robota.protocol.message import Message

MAX_PROMPTS: Final = 1000


class PromptHistory(msgspec.Struct, frozen=True, kw_only=True):
    """`position` counts from the oldest; None means the text that is being written, kept in `draft` meanwhile."""

    prompts: tuple[str, ...] = ()
    position: int | None = None
    draft: str = ""

    def sent(self, prompt: str) -> "PromptHistory":
        """After this prompt was sent. Blank ones and repetitions of the newest are not remembered."""
        is_new = bool(prompt.strip()) and self.prompts[-1:] != (prompt,)
        return PromptHistory(prompts=(*self.prompts, prompt)[-MAX_PROMPTS:] if is_new else self.prompts)

    def older(self, text: str) -> "PromptHistory":
        """Go to the previous prompt; `text` is the current text of the input."""
        if not self.prompts:
            return msgspec.structs.replace(self, draft=text)
        if self.position is None:
            return msgspec.structs.replace(self, position=len(self.prompts) - 1, draft=text)
        kept = self._with_changed(text)
        return msgspec.structs.replace(kept, position=max(0, self.position - 1))

    def newer(self, text: str) -> "PromptHistory":
        """Go to the next prompt, and after the newest to the text that was being written."""
        if self.position is None:
            return self
        kept, position = self._with_changed(text), self.position + 1
        return msgspec.structs.replace(kept, position=position if position < len(kept.prompts) else None)

    def _with_changed(self, text: str) -> "PromptHistory":
        """A prompt of the history that was changed and not sent becomes the text that is being written."""
        if text == self.text or not text.strip():
            return self
        kept = self.sent(self.draft)
        return PromptHistory(prompts=kept.prompts, position=self.position, draft=text)

    @property
    def text(self) -> str:
        """The text to show in the input."""
        return self.draft if self.position is None else self.prompts[self.position]

    def matching(self, words: str) -> tuple[str, ...]:
        """The prompts with these words in them, the newest first, each once."""
        folded = words.casefold()
        return tuple(dict.fromkeys(each for each in reversed(self.prompts) if folded in each.casefold()))


def prompts_in(rows: Iterable[Message]) -> tuple[str, ...]:
    """The texts of the user in the rows of a task: the first prompt, and all later ones."""
    texts = [row.text for number, row in enumerate(rows) if number == 0 or row.say == "user_feedback"]
    return tuple(text for text in texts if text)
