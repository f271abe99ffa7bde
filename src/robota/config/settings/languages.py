"""The setting for the language of answers, and the sentence that the model gets."""

from typing import Final

MAX_LENGTH: Final = 40

NAMES: Final = {
    "ar": "Arabic",
    "cs": "Czech",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


def language_problem(text: str) -> str | None:
    """The problem with a language. Only a code or a name of letters is valid, because it goes into the prompt."""
    words = text.replace("-", " ").replace("(", " ").replace(")", " ").split()
    if words and len(text) <= MAX_LENGTH and all(word.isalpha() for word in words) and "\n" not in text:
        return None
    return f"a language is required here: a code such as {', '.join(list(NAMES)[:4])}, or a name such as Korean"


def response_sentence(language: str | None) -> str | None:
    """The sentence for the system prompt; None if no language is set."""
    if not language:
        return None
    return f"Always respond in {NAMES.get(language.lower(), language)}."
