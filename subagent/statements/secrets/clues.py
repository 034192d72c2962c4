"""The marks without which no rule finds a secret in a text; one look finds them all. Pure."""

import re
from dataclasses import dataclass

from memex.subagent.statements.secrets.marks import Marks, parse_marks, to_small


class Clue:
    """The rules that a mark belongs to, as bits: members of an enumeration would take a third of the time."""

    NAME = 1  # the name of a secret
    PASSWORD = 2  # such a name, whose value may have no digit
    LOCK = 4  # a lock, a door or a thing with a code
    SIGN = 8  # of a password by its look
    CODE_WORD = 16
    ADDRESS = 32
    PERSONAL = 64
    LOGIN = 128  # a way in


_MARKS = {
    Clue.LOGIN: parse_marks(
        "login|log-in|log in|log on|logged|sign-in|sign in|anmeldung|connexion|wi-fi|wifi|wlan"
    ),
    Clue.NAME: parse_marks(
        "code|código|codigo|pin|user|key|pass|account|number|login|access|token|secret|"
        "combin|combo|tan|puk|otp|cvv|cvc|pw|psw|kennwort|losung|mdp|contrase|senha|"
        "credential|zugang|schlüssel|clé|clave|jeton|llave|logged|sign|anmeldung|connexion|"
        "wi-fi|wifi|wlan|kombination|geheim|accès|acces|compte|konto|benutzer|identifiant|"
        "usuario|utilisateur|cryptogramme|prüfziffer|zahlenschloss|nummer|verification|"
        "bestätigung|vérification|verificación|combinaison|log in|log-in|log on"
    ),
    Clue.PASSWORD: parse_marks(
        "pass|pw|psw|kennwort|losung|mdp|contrase|senha|credential|zugang|key|secret|"
        "token|schlüssel|clé|clave|jeton"
    ),
    Clue.LOCK: parse_marks(
        "lock|keypad|safe|key|alarm|schloss|tresor|schlüssel|cadenas|antivol|coffre|"
        "digicode|candado|caja|cerradura|cajetín|door|gate|garage|shed|till|register|"
        "minibar|vault|entrance|intercom|tür|tor|spind|schließfach|eingang|schranke|porte|"
        "portail|casier|interphone|entrée|puerta|portal|portón|taquilla|garaje|trastero|"
        "verja|voicemail|mailbox|answer|anrufbeantworter|messagerie|répondeur|buzón|building|"
        "flat|apartment|house|office|stairwell|phone|mobile|tablet|ipad|laptop|suitcase|"
        "airbnb|parking|haus|gebäude|büro|handy|telefon|koffer|wohnung|immeuble|téléphone|"
        "portable|valise|local|bureau|edificio|móvil|teléfono|maleta|oficina|piso|"
        "boîte à clé|voice mail"
    ),
    Clue.SIGN: parse_marks("!|*|^|~"),
    Clue.CODE_WORD: parse_marks("word|wort|losung|parole|mot de code|palabra clave"),
    Clue.ADDRESS: parse_marks("@"),
    Clue.PERSONAL: parse_marks(
        "ssn|maiden|question|answer|sicherheitsfrage|mädchenname|pregunta|soltera|seed|"
        "recovery|backup|mnemonic|wallet|wiederherstellung|récupération|recuperación|semilla|"
        "social security|jeune fille"
    ),
}
ALL_MARKS = Marks(sorted({mark for marks in _MARKS.values() for mark in marks}))
CLUES_OF_MARKS = [sum(clue for clue, marks in _MARKS.items() if mark in marks) for mark in ALL_MARKS.marks]
_DIGIT = re.compile(r"\d")
# What stands between a password without a digit and its name; in small letters.
_LINK = re.compile(
    r"[:=→]|'s|\b(?:is|are|was|reads|goes|says|lautet|lauten|ist|heißt|est|es|son|é|changed|set|reset|geändert"
    r"|changé)\b"
)


@dataclass(frozen=True, slots=True)
class Clues:
    """The marks of secrets that a text holds.

    Attributes:
        text: with straight quotes.
        small: the same in small letters.
        found: of which rules it has a mark.
        first_name: where the first mark of a name stands; only if there is one.
        first_digit: where the first digit stands; None if there is none.
    """

    text: str
    small: str
    found: int
    first_name: int
    first_digit: int | None

    def has(self, clue: int) -> bool:
        """Return whether the text has a mark of a rule."""
        return self.found & clue != 0

    @property
    def has_digit(self) -> bool:
        """Return whether the text has a digit."""
        return self.first_digit is not None

    @property
    def may_name_value(self) -> bool:
        """Return whether the name of a secret may be there, with a value behind it."""
        if not self.found & Clue.NAME:
            return False
        if self.has_digit and _DIGIT.search(self.text, self.first_name):
            return True
        if self.found & Clue.PASSWORD and _LINK.search(self.small, self.first_name):
            return True
        return self.text.find("/", self.first_name) >= 0


def find_clues(text: str) -> Clues:
    """Return what a text holds that may be or name a secret."""
    straight = text.replace("’", "'")
    small = to_small(straight)
    found, first_name = 0, len(text)
    for index, start, _ in ALL_MARKS.find(small):
        clues = CLUES_OF_MARKS[index]
        found |= clues
        if clues & Clue.NAME and start < first_name:
            first_name = start
    digit = _DIGIT.search(straight)
    return Clues(straight, small, found, first_name, digit.start() if digit else None)
