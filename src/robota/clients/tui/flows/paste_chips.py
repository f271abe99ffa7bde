"""Labels in the input for long pastes and images. A paste becomes its text again when the prompt is sent."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from robota.clients.terminal.keys import plain_text

LABEL: Final = r"\[Pasted text #(\d+) \+\d+ lines\]"
IMAGE_LABEL: Final = r"\[Image #(\d+)\]"
MAX_LINE_LENGTH: Final = 1000


class PasteChips(msgspec.Struct, frozen=True, kw_only=True):
    """The texts and images (as data URLs) of the labels. Numbers are never reused in a conversation."""

    texts: Mapping[int, str] = {}
    images: Mapping[int, str] = {}
    last_number: int = 0

    def pasted(self, text: str) -> tuple["PasteChips", str]:
        """The text to insert for a paste: the text itself, or a label if it is long or has several lines."""
        plain = plain_text(text)
        if "\n" not in plain and len(plain) <= MAX_LINE_LENGTH:
            return self, plain
        number = self.last_number + 1
        lines = plain.removesuffix("\n").count("\n") + 1
        chips = msgspec.structs.replace(self, texts={**self.texts, number: plain}, last_number=number)
        return chips, f"[Pasted text #{number} +{lines} lines]"

    def with_image(self, data_url: str) -> tuple["PasteChips", str]:
        """The label of an image."""
        number = self.last_number + 1
        chips = msgspec.structs.replace(self, images={**self.images, number: data_url}, last_number=number)
        return chips, f"[Image #{number}]"

    def restored(self, text: str, images: tuple[str, ...]) -> tuple["PasteChips", str]:
        """Restore a sent prompt for editing: each of its labels refers to its image again."""
        numbers = [int(number) for number in dict.fromkeys(re.findall(IMAGE_LABEL, text))]
        chips = msgspec.structs.replace(
            self,
            images={**self.images, **dict(zip(numbers, images, strict=False))},
            last_number=max([self.last_number, *numbers]),
        )
        for image in images[len(numbers) :]:
            chips, label = chips.with_image(image)
            text = f"{text} {label}"
        return chips, text

    def shown_images(self, text: str) -> tuple[str, ...]:
        """The images whose labels are still in the text, in order, each once."""
        numbers = dict.fromkeys(int(number) for number in re.findall(IMAGE_LABEL, text))
        return tuple(self.images[number] for number in numbers if number in self.images)

    def expanded(self, text: str) -> str:
        """The text with labels replaced by their pastes. A typed label without a paste is kept."""
        return re.sub(LABEL, lambda found: self.texts.get(int(found[1]), found[0]), text)

    def labelled(self, text: str) -> tuple[tuple[str, str], ...]:
        """The labels of pastes in the text, with their texts."""
        labels = ((label[0], self.texts.get(int(label[1]), "")) for label in re.finditer(LABEL, text))
        return tuple((label, paste) for label, paste in labels if paste)

    def label_before(self, text: str, caret: int) -> str:
        """The label of a paste or an image that ends at the caret; empty if none does."""
        label = re.search(rf"(?:{LABEL}|{IMAGE_LABEL})$", text[:caret])
        is_known = label is not None and int(label[1] or label[2]) in (self.texts if label[1] else self.images)
        return label[0] if label is not None and is_known else ""

    def forgotten(self) -> "PasteChips":
        """After the prompt was sent."""
        return PasteChips(last_number=self.last_number)

    def cleared(self) -> "PasteChips":
        """After the prompt was put into the history, which has pastes as text and images as labels."""
        return PasteChips(images=self.images, last_number=self.last_number)
