"""Texts that only greet, thank or agree. Pure."""

import re
from collections.abc import Iterable

from memex.store.search.analyzer import load_language

# Greetings, thanks and answers of one word in the languages that the analyzer knows.
_COURTESIES = frozenset(
    """
    hi hello hey bye goodbye thanks thank thx cheers please ok okay yes yeah yep no nope sure
    great cool nice good fine morning evening night day welcome sorry hallo servus moin
    tschüss danke bitte ja nein gut guten morgen tag abend schön super klar bonjour bonsoir
    salut merci oui non bien hola adiós gracias sí bueno buenos buenas días tardes noches vale
    ciao grazie prego sì buongiorno olá obrigado obrigada sim bom dia hoi dank graag nee goed
    cześć dzień dobry dzięki tak nie hej tack nej god hei kiitos kyllä takk привет спасибо да
    нет пожалуйста хорошо 你好 谢谢 好的 はい ありがとう
    """.split()  # noqa: SIM905  # a list of words, a word a string, would be longer than the module
)
_WORD = re.compile(r"[^\W_]+")
_LANGUAGES = (
    *("danish", "dutch", "english", "finnish", "french", "german", "hungarian"),
    *("italian", "norwegian", "portuguese", "russian", "spanish", "swedish", "turkish"),
)


def is_courtesy(text: str, languages: Iterable[str] = _LANGUAGES) -> bool:
    """Return whether every word of a text is a courtesy or a stop word of one language; so it is without words."""
    words = [word.casefold() for word in _WORD.findall(text)]
    left = {word for word in words if word not in _COURTESIES}
    return any(left <= load_language(language).stop_words for language in languages)
