"""Secrets in statements: keys, tokens, passwords and codes with their value, card numbers. Pure.

A secret is found by its own form (`forms.py`), or by a word that names it and a value that soon follows, in
English, German, French and Spanish. What is not found may be a secret too.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from memex.subagent.statements.secrets.clues import Clue, Clues, find_clues
from memex.subagent.statements.secrets.forms import find_forms
from memex.subagent.statements.secrets.lock_codes import find_lock_codes
from memex.subagent.statements.secrets.marks import to_small
from memex.subagent.statements.secrets.patterns import lazy_pattern

# A password by its look: capitals, small letters, digits, and a sign between them.
_LOOK = lazy_pattern(
    r"(?<![^\s\"'`(:])(?=[\w!*^~?-]{0,40}[A-Z])(?=[\w!*^~?-]{0,40}[a-z])(?=[\w!*^~?-]{0,40}\d)"
    r"[A-Za-z0-9]{2,20}[!*^~][\w!*^~?-]{2,30}(?=[\"'`),.;]?(?:\s|$))"
)

_LOCK = (
    r"(?:door|gate|alarm|safe|lock|padlock|locker|lockbox|key ?safe|key ?box|keypad|entry|entrance|access"
    r"|garage"
    r"|building|security|shed|vault|loft|barn|cabinet|card|sim|phone|tablet|screen|recovery|backup|rescue"
    r"|unlock"
    r"|activation|verification|one-time|pairing|reset|master|2fa|mfa|authenticator|intercom|garden|stable"
    r"|office)"
)
_OF = r"(?:de l'|de la |del |de los |du |des |de |d'|pour le |pour la |para el |para la )(?:[\w'-]{1,20} ){0,2}?"
_PASSWORDS = (
    r"pass ?words?(?! (?:managers?|polic|resets?|fields?|forms?|pages?|rules?|hash|store|vault|length))"
    r"|passkeys?|passwd|pswd|passw|psw|pword|passphrase|pass ?code|pwd|pass(?=[ ]?[:=]| (?:for|to|on) "
    r"| is \S{0,40}\d)|pw"
    r"|passwort"
    r"|(?:[^\W\d_]{1,20}-?)?(?:passwort|passwörter|kennwort)|losungswort"
    r"|mots? de passe|mdp|contraseñas?|contrasenas?|senha|credentials?|zugangsdaten"
    r"|(?:api|access|secret|private|account|wi-?fi|wlan|network|router|encryption|wpa)[ _-]?(?:key|secret)"
    r"|(?:access|auth|api|bearer|refresh|registry|deploy|session|bot)[ _-]?token|client[ _-]?secret"
    r"|(?:wlan|wi-?fi|netzwerk|api|zugangs|wpa)-?schlüssel"
    r"|clé (?:du |de la )?(?:wi-?fi|d'api|api|secrète|d'accès|de sécurité|privée|wpa)|jeton d'(?:accès|api)"
    r"|clave (?:del |de la |de )?(?:wi-?fi|api|red|secreta|privada|acceso)"
)
_CODES = (
    rf"{_LOCK}(?:'s)?[ -](?:door |gate |lock |entry |access )?(?:codes?|combination|combo|pin)"
    r"|(?:padlock|lock|safe|keypad|locker|lockbox|key ?safe)[ -]number"
    rf"|(?:codes?|combination|combo|pin|number) (?:for|of|to|on) (?:[\w'-]{{1,20}} ){{0,3}}?"
    r"(?:door|gate|alarm|safe|padlock|lock|locker|lockbox|key ?safe|keypad|garage|shed|vault|building|loft"
    r"|barn)"
    r"|(?:one|single)[ -](?:time|use)[ -](?:code|pin)|(?-i:m?TANs?)|einmal-?code|code à usage unique"
    r"|código de un solo uso"
    r"|(?!(?:qr|bar|zip|source|quell|länder|farb|fehler|error|morse|dress|promo|rabatt|gutschein|exit"
    r"|status|swift|bic|http|area)-)"
    r"[^\W\d_]{3,20}-codes?|kartenprüfnummer|prüfziffern?|cryptogramme|code au dos"
    r"|(?:purchase|voice|parental|guest|visitor|member|customer|confirmation|safety|device|remote|panel"
    r"|disarm|exit-proof|private"
    r"|personal|spare|delivery|pick-?up|parcel|gym|club|bathroom|toilet|roof|elevator|lift|pool|car|boat"
    r"|bike|room) (?:pin|codes?(?= (?:is|was|changed|to) |:))"
    r"|(?!(?:error|zip|area|post|postal|country|status|product|discount|promo|source|exit|dress|swift|sort"
    r"|tax|booking"
    r"|order|item|unit|morse|state|return|response|http|language|currency|airport|course|voucher|coupon"
    r"|bonus|model"
    r"|part|ref|reference|colour|color|vat|fault|flight|drop|race|batch|tracking|machine|time|test|old|new"
    r"|the|our|my)\b)"
    r"[a-z]{3,12} codes?(?= (?:is|was|are) |: ?\d)"
    r"|(?:verification|bestätigung|vérification|verificación)(?=:? \d{3} ?\d{3}\b)"
    r"|combination|combo|pin(?:[ -]?(?:code|number|nummer))?s?|pins|puk|otp|cvv2?|cvc2?"
    r"|codes? (?:für|fürs|zum|zur|vom) (?:[\w'-]{1,20} ){0,2}?[^\W\d_]{0,12}(?:alarm|tür|tor|safe|tresor"
    r"|garage"
    r"|schloss|keller|eingang|haus|lager|schuppen)[^\W\d_]{0,12}|geheimzahl|geheimnummer"
    r"|(?:zahlen)?kombination|zahlenschloss|"
    r"(?:tür|haustür|tor|alarm|tresor|safe|zugangs|zutritts|schloss|garagen|eingangs|wiederherstellungs"
    r"|aktivierungs"
    r"|entsperr|freischalt|bestätigungs|karten|keller|sicherheits|spind)-?(?:code|pin|kombination)"
    r"|digicode|combinaison"
    r"|code (?:pin|secret|confidentiel|d'accès|d'entrée|d'activation|de récupération|de secours|de sécurité"
    r"|de déverrouillage|de vérification|puk|temporaire"
    rf"|{_OF}(?:alarme|porte|portail|coffre|cb|carte|immeuble|garage|cadenas|boîte|digicode|local|box"
    rf"|téléphone))"
    r"|combinación|(?:código|clave|pin) (?:secret[oa]|de (?:acceso|activación|recuperación|seguridad"
    r"|verificación)"
    rf"|{_OF}(?:alarma|puerta|portal|caja|tarjeta|candado|garaje|entrada|edificio|móvil|trastero))"
)
# In small letters, but for `TAN`: see `_to_names`.
_NAMES = lazy_pattern(
    rf"(?<![^\W_])(?:(?P<password>{_PASSWORDS})|(?P<code>{_CODES})"
    r"|(?P<key>(?:[\w-]{1,20}[_-])?(?:key|token|secret)|schlüssel|clé|clave|llave|jeton)"
    r"|(?P<bare>codes?|códigos?)"
    r"|(?P<login>log[ -]?in|sign[ -]?in|logged in|logged on|log on|zugang|anmeldung|connexion|wi-?fi|wlan)"
    r"|(?P<account>access|accès|acces|acceso|account|compte|konto|user(?:name)?|benutzer(?:name)?"
    r"|identifiant|usuario"
    r"|utilisateur))(?![^\W_])"
)
_TAN = lazy_pattern(r"(?<![^\W_])m?TANs?(?![^\W_])")
_MAX_PREFIX_CHARS = 40  # of a name before its mark; the longest has some 25

# What links a name to its value.
_LINK = (
    r"(?:\s*[:=→][\"'`*(\s]*"
    r"|(?:\s+(?:is|are|was|reads|goes|says|lautet|lauten|ist|heißt|est|c'est|es|son|é)|'s)(?:\s+(?:now"
    r"|jetzt|maintenant|ahora|nun|still|noch"
    r"|toujours|again))?[\s:\"'`*(]+|\s+(?:changed|set|reset|geändert|changé)\s+(?:to|auf|en"
    r"|pour)\s+[\"'`*(]*)"
)
# Letters and digits: `password is required` names none.
_MIXED = r"((?=[^\s\"'`]{0,60}\d)(?=[^\s\"'`]{0,60}[^\W\d_])[^\s\"'`,;]{6})"
_NO_VALUE = (
    r"(?!(?:see|ask|in|on|at|is|not|no|none|the|a|an|my|your|our|too|very|still|always|never|now|only|kept"
    r"|same|stored"
    r"|required|needed|wrong|safe|secure|weak|strong|unknown|mandatory|missing|what|where|siehe|frag|im|bei"
    r"|nicht|zu"
    r"|noch|das|der|die|ein|eine|falsch|sicher|nötig|unbekannt|voir|demander?|dans|chez|pas|le|la|les|un"
    r"|une|trop"
    r"|ver|preguntar|el|en|una|muy|demasiado|sin|expir\w+|oubli\w+|perdu\w*|chang\w+|olvidad[oa]"
    r"|caducad[oa]|\w{1,30}(?:ed|ing|ert|iert)"
    r"|(?:ge|ab|ver|be|er)\w{2,20}(?:en|t))(?![\w-]))"
)
# No word of a phrase that is a secret: `Passwords: never in a mail`.
_NO_WORD = (
    r"(?!(?:the|and|every|each|all|must|should|never|always|only|not|with|for|from|every|change|rotate|keep"
    r"|see|ask"
    r"|use|write|nur|nie|immer|nicht|mit|und|alle|jede\w?|bitte|siehe|jamais|toujours|pas|avec|pour|dans"
    r"|tous|voir"
    r"|nunca|siempre|para|con|todos|todas|ver)\b)"
)
_WORD_END = r"(?=[\"'`*).,;!]*(?:\s*$|\s+[-–—(]|[.,;!]\s|\s*\n|[\"'`)]))"
_NO_COUNT = (
    r"(?<![£$€+#/.,:\d])(?<!\bin )(?<!\bsince )(?<!\bseit )(?<!\ben )(?<!\bdepuis )(?<!\bdesde )(?<!\bof )"
    r"(?<!\bcall )(?<!\bring )(?<!\btel )(?<!\bafter )(?<!\bbefore )(?<!\bline )(?<!\bversion )(?<!\border )"
)
_UNIT = (
    r"(?![\d]|[ ]?(?:[%€$£]|digits?|characters?|chars|letters?|times?|days?|hours?|minutes?|weeks?|months?"
    r"|years?"
    r"|tries|people|stellig|stellen|zeichen|tage|mal|jahre|chiffres|caractères|jours|fois|cifras|dígitos"
    r"|días|veces|euros?"
    r"|km|mm|cm|mb|gb|versuche|pounds?|quid)(?![^\W_]))(?![.,:/-]\d|[ ]\d{2})"
)
# A word that hardly anybody writes but as a password: letters, digits, and a sign or a capital among them.
_STRONG = (
    r"(?!v?\d+[.:]\d|\d{1,4}[-/.]\d|https?:|[\w.+-]+@[\w-]+\."
    r"|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,4}(?![\w]))(?=[^\s\"'`]{0,40}\d)"
    r"(?=[^\s\"'`]{0,40}[^\W\d_])(?=[^\s\"'`]{0,40}[!#$%&*?=+^~@_-]|(?-i:[^\s]{0,40}[a-z0-9][A-Z][a-z]"
    r"|[A-Z][a-z]{2,20}\d{2}))"
    r"([^\s\"'`,;/]{6,40})(?=[\"'`,;.)]*(?:\s|$))"
)
# The same without any word that leads to it: with a small letter, and with a sign or a capital inside.
_OBVIOUS = (
    r"(?<![^\s\"'`(:=])(?=[^\s]{0,40}(?-i:[a-zß-ÿ]))(?=[^\s]{0,40}[!#$%&*?+^~@_]"
    r"|(?-i:[^\s]{0,40}[a-z0-9][A-Z][a-z]))" + _STRONG
)
_PASSWORD_VALUE = lazy_pattern(
    rf"[^!?\n]{{0,70}}?{_OBVIOUS}"
    rf"|[^.!?\n]{{0,50}}?\s(?:to|auf|en|a|por|in|as|it's|zu)\s+[\"'`]*(?!v?\d+[.:]\d"
    rf"|\d{{1,4}}[-/.]\d){_MIXED}"
    rf"|(?:\s+|{_LINK})(\d{{4,8}}|\d{{3}}[ -]\d{{3}})(?![\w:/-]|[.,]\d){_UNIT}|"
    rf"[^.!?\n:=]{{0,50}}?\s[-–—]+\s+{_STRONG}|"
    rf"[^.!?\n:=]{{0,50}}?{_LINK}{_MIXED}"
    rf"|[\"'`*)]*{_LINK}(?=[^\s]{{0,40}}[!#$%&*?=+^~@_-])(?=[^\s]{{0,40}}[^\W_]){_NO_VALUE}([^\s\"'`]{{6}})"
    rf"|[^.!?\n:=]{{0,40}}?[\"'`*)]*\s*[:=]\s*[\"'`*]*{_NO_VALUE}([^\s\"'`,;]{{4,60}}){_WORD_END}"
    rf"|[^.!?\n:=]{{0,40}}?\s(?:is|lautet|ist|heißt|est|es)(?: now| jetzt)?\s+[\"'`*]*{_NO_VALUE}"
    r"([^\s\"'`,;.]{5,60})"
    rf"[\"'`*]*[.!]?\s*$"
    rf"|[^.!?\n:=]{{0,40}}?\s*[:=]\s*((?:{_NO_WORD}[^\W\d_]{{3,15}}[ -]){{1,5}}{_NO_WORD}[^\W\d_]{{3,15}})[.!]?\s*$"
    rf"|[^.!?\n:=]{{0,40}}?[,(]\s*{_NO_COUNT}(\d{{4,8}})(?=[,).]){_UNIT}"
    rf"|(?:,|\s+[\"'`*(]*|\s*\()\s*{_MIXED}"
    r"|\s*\n\s*(?=[^\s]{0,60}\d)(?=[^\s]{0,60}[^\W\d_])([^\s]{6})",
    re.IGNORECASE,
)
_DIGITS = rf"{_NO_COUNT}(#?\d{{4,8}}[#*]?){_UNIT}"
_GROUPED = r"(?<![\d.,:/-])(\d{1,3}(?:(?: ?[-–] ?|/| )\d{1,3}){2,5})(?![\w/]|[.,:-]\d)(?!\.\d)"
_CAPITALS = (
    r"(?-i:(?<![\w-])(?=[A-Z0-9-]{0,40}\d)(?=[A-Z0-9-]{0,40}[A-Z])"
    r"([A-Z0-9]{1,12}(?:-[A-Z0-9]{1,12}){1,7})(?![\w-]))"
)
_SHORT_MIX = r"(?-i:(?<![\w.,:/-])(?=(?:[A-Z]{0,3}\d){3})(\d{0,9}[A-Z]{1,3}\d{0,9})(?![\w:/-]|\.\d))"
_CODE_VALUE = lazy_pattern(
    rf"[^.!?\n]{{0,60}}?(?:{_DIGITS}|{_GROUPED}|{_CAPITALS}|{_SHORT_MIX})"
    rf"|[\"'`*)]*{_LINK}{_MIXED}|[^.!?\n]{{0,40}}?[\"'`*)]*{_LINK}(\d{{3}})(?![\w:/%€-]|[.,]\d){_UNIT}"
    rf"|[^.!?\n]{{0,40}}?{_NO_COUNT}(\d{{3}}[ -]\d{{3}})(?![\w:/%€-]|[.,]\d){_UNIT}"
    rf"|[^.!?\n]{{0,40}}?{_LINK}(?-i:(?=[A-Z0-9]{{0,12}}\d\d)(?=[A-Z0-9]{{0,12}}[A-Z])([A-Z0-9]{{4,12}}))(?!\w)"
    rf"|\s+(\d{{3,8}})(?=[\"'`*).,;!]*(?:\s|$)){_UNIT}",
    re.IGNORECASE,
)
_BARE_VALUE = lazy_pattern(
    rf"(?:\s+(?:now|jetzt|maintenant|ahora|since \w+|depuis \w+))?[\"'`*)]*{_LINK}(?:(?-i:(\d{{4,8}}[#*A-Z]?"
    rf"|[A-Z]\d{{3,8}})){_UNIT}(?!\w)|{_CAPITALS})|\s+(\d{{6}})(?![\w:/-]|[.,]\d){_UNIT}",
    re.IGNORECASE,
)
_KEY_VALUE = lazy_pattern(
    rf"[^.!?\n:=]{{0,40}}?[\"'`*)]*{_LINK}(?=[^\s]{{0,60}}\d)(?=[^\s]{{0,60}}[^\W\d_])([\w+/=!*~-]{{8}})"
    r"|[^.!?\n]{0,60}?(?-i:(?<![\w/.-])(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[a-z])(?=[\w-]{0,60}[A-Z])([\w-]{20}))",
    re.IGNORECASE,
)
_ACCOUNT_VALUES = (
    r"[^.!?\n]{0,40}?[:=,\s]\s*[\w.@+-]{2,60} ?/ ?(?=[^\s/]{0,40}[\d!#$%&*?=+^~@_-])(?=[^\s/]{0,40}[^\W\d_])"
    r"([^\s/\"'`,;]{6,60})(?=[\"'`,;.)]*(?:\s|$))"
    rf"|[^.!?\n]{{0,60}}?\b(?:key|schlüssel|clé|clave|code|pw|pass|mdp)\s*[:=]?\s*[\"'`]*{_MIXED}"
)
_ACCOUNT_VALUE = lazy_pattern(_ACCOUNT_VALUES, re.IGNORECASE)
_LOGIN_VALUE = lazy_pattern(
    rf"[^!?\n]{{0,40}}?[:=]\s*(?=[^\s]{{0,40}}(?-i:[a-z]{{3}}))(?!v?\d+[.:]\d|\d{{1,4}}[-/.]\d|https?:"
    rf"|[\w.-]+\.[a-z]{{2,4}}\b)"
    rf"(?=[^\s]{{0,40}}\d)([\w!#$%&*?+^~=-]{{8,40}})(?=[\"'`,;.)]*\s*$)|"
    rf"[^.!?\n]{{0,50}}?[:=,]\s*[\w.@+-]{{2,60}}\s?[,;|]\s*{_STRONG}"
    rf"|[^!?\n]{{0,70}}?\s(?:and(?: then)?|then|und(?: dann)?|et|puis|y|luego|/)\s+{_STRONG}"
    rf"|[^!?\n]{{0,60}}?(?:\bis|\bwith|\bmit|\bavec|\bcon|\bist|\best|\bes|[:=])\s+[\"'`]*{_STRONG}|"
    rf"{_ACCOUNT_VALUES}",
    re.IGNORECASE,
)
# A bare `code` is one for a lock only behind one of these, and not in `error code`.
_DETERMINER = lazy_pattern(
    r"(?:^|\W)(?:the|new|old|my|our|her|his|their|le|mon|notre|nouveau|ancien|der|den|neue[rn]?|mein|unser"
    r"|el|nuevo|mi"
    r"|nuestro)\s$",
    re.IGNORECASE,
)
_VALUES = {
    "password": _PASSWORD_VALUE,
    "code": _CODE_VALUE,
    "key": _KEY_VALUE,
    "bare": _BARE_VALUE,
    "login": _LOGIN_VALUE,
    "account": _ACCOUNT_VALUE,
}
_NEAR_CHARS = 130

# `4471 is my PIN`.
_VALUE_FIRST = lazy_pattern(
    rf"(?<![\w.,/:+-])(?P<value>\d{{4,8}}[#*]?|{_MIXED}[^\s\"'`,;]{{0,40}})\s+"
    rf"(?:is|ist|est|es)\s+(?:[\w']{{1,20}} ){{0,4}}?(?:{_PASSWORDS}|{_CODES})(?![^\W_])",
    re.IGNORECASE,
)
# A word of a phrase that brings a wallet back; its lists hold none of those that make a sentence of it.
_SEED_WORD = (
    r"(?!(?:the|and|are|was|with|for|from|und|mit|der|les|des|est|pour|avec|los|las|con|por)\b)[a-zß-ÿ]{3,9}"
)
# What proves to an office or a bank who somebody is, and the words that bring a wallet back.
_PERSONAL = lazy_pattern(
    r"\b(?:social security|ssn)\b[^.!?\n]{0,30}?\b(\d{3}-?\d{2}-?\d{4})\b"
    r"|\b(?:maiden name|security (?:question|answer)|secret (?:question|answer)|sicherheitsfrage"
    r"|mädchenname|question (?:secrète|de sécurité)"
    r"|nom de jeune fille|pregunta (?:secreta|de seguridad)|apellido de soltera)\b"
    r"(?=[^\n]{0,80}\b(?:bank|account|login|answer|question|konto|antwort|sicherheitsfrage|banque|compte"
    r"|réponse|banco|cuenta|respuesta)\b)"
    r"[^!?\n]{0,80}?(?:\b(?:is|ist|lautet|est|es)|[:=?])\s+[\"'`]*((?-i:[A-ZÀ-Þ\d])[\w'-]{2,})"
    r"|\b(?:seed|recovery|backup|mnemonic|wallet|wiederherstellungs\w*|récupération|recuperación|semilla)\b"
    r"[^\n]{0,60}?(?:[:=]|\b(?:is|are|ist|sind|lautet|lauten|est|sont|es"
    rf"|son))\s+[\"'`*]*((?-i:{_SEED_WORD}[ ,]{{1,2}}){{7,23}}(?-i:{_SEED_WORD}))",
    re.IGNORECASE,
)
# The word by which one says to a guard or a hotline that one is who one is.
_CODE_WORD = lazy_pattern(
    r"\b(?:safe ?word|code ?word|kodewort|codewort|losung|parole|mot de code"
    r"|palabra clave)\b[^.!?\n:]{0,50}?(?:[:=]|\b(?:is|ist|lautet|est|es))\s+"
    r"[\"'`]*((?-i:[A-ZÀ-Þ])[\w-]{2,})(?=[\"'`.!]*\s*$)"
    r"|(?<!\S)[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,3}\s{0,3}[,;|]\s{0,3}" + _STRONG,
    re.IGNORECASE,
)
_WORD_REST = lazy_pattern(r"[^\s\"'`<>]*")
_CARD = lazy_pattern(
    r"(?<![\d.,-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\d.,-]*\d)"
    r"|(?<!\d)3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?!\d)"
)
_EIGHT_DIGITS = lazy_pattern(r"\d{4}[ -]?\d{4}|\d{4}[ -]\d{6}")  # of every card
# A value that stands alone behind the sentence that names its secret.
_LONE_VALUE = lazy_pattern(
    rf"(?:[^\W\d_]{{1,12}}(?:'[a-z]{{1,2}})?[:,]? (?:[/–=-] )?){{0,3}}"
    rf"[\"'`*]*(?:{_DIGITS}|{_MIXED}[^\s]{{0,60}}|{_CAPITALS}|{_GROUPED})"
    r"[\"'`*.!)]*\s*$",
    re.IGNORECASE,
)


def holds_secret(text: str) -> bool:
    """Return whether a text holds a secret."""
    return next(_spans(text), None) is not None


def find_secrets(text: str) -> list[tuple[int, int]]:
    """Return where the secrets stand that `holds_secret` finds, each to the end of its word; they may overlap."""
    ends = WordEnds(text)
    return [(start, ends.of(end)) for start, end in _spans(text)]


def find_values(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the values of secrets that words name: the kind of each, and from where to where it reaches."""
    clues = find_clues(text)
    straight = clues.text
    for kind, match in _phrases(clues):
        yield kind, match.start(match.lastindex or 0), match.end(match.lastindex or 0)
    for card in _cards(clues):
        yield "card", *card.span()
    for match in _values_first(clues):
        yield "password", *match.span("value")
    for _, code in _lock_codes(clues):
        yield "code", *code
    ends = WordEnds(straight)
    for kind, _, (start, end) in _named_values(clues):
        yield kind, start, ends.of(end)


def names_secret(text: str) -> bool:
    """Return whether a text ends with the name of a secret, whose value may stand in the next sentence."""
    tail = text[-80:].replace("’", "'")
    names = _NAMES.finditer(_to_names(tail, to_small(tail)))
    return any(match.lastgroup in {"password", "code"} for match in names)


def is_lone_value(text: str) -> bool:
    """Return whether a short sentence holds hardly more than what may be the value of a secret."""
    return len(text) <= 80 and _LONE_VALUE.match(text) is not None


def _spans(text: str) -> Iterator[tuple[int, int]]:
    clues = find_clues(text)
    known = [(start, end) for _, start, end in find_forms(clues.text, clues.small)]
    known += [match.span() for match in _passwords(clues)]
    known += [match.span() for _, match in _phrases(clues)]
    known += [card.span() for card in _cards(clues)]
    yield from known
    yield from (match.span() for match in _values_first(clues))
    yield from (whole for whole, _ in _lock_codes(clues))
    starts = sorted(start for start, _ in known)
    for _, start, (_, end) in _named_values(clues):
        place = bisect_left(starts, start)
        # The value is a token, which was found without its name.
        if place == len(starts) or starts[place] >= end:
            yield start, end


def _passwords(clues: Clues) -> Iterator[re.Match[str]]:
    if clues.has_digit and clues.has(Clue.SIGN):
        yield from _LOOK.finditer(clues.text)


def _phrases(clues: Clues) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield code words and what proves who somebody is, with their kinds."""
    if clues.has(Clue.CODE_WORD) or (clues.has_digit and clues.has(Clue.ADDRESS)):
        yield from (("password", match) for match in _CODE_WORD.finditer(clues.text))
    if clues.has(Clue.PERSONAL):
        yield from (("personal", match) for match in _PERSONAL.finditer(clues.text))


def _cards(clues: Clues) -> Iterator[re.Match[str]]:
    if clues.has_digit and _EIGHT_DIGITS.search(clues.text):
        yield from (card for card in _CARD.finditer(clues.text) if _is_card(card[0]))


def _values_first(clues: Clues) -> Iterator[re.Match[str]]:
    if clues.has_digit and clues.has(Clue.NAME):
        yield from _VALUE_FIRST.finditer(clues.text)


def _lock_codes(clues: Clues) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    if clues.has_digit and clues.has(Clue.LOCK):
        yield from find_lock_codes(clues.text, clues.small)


def _named_values(clues: Clues) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield the kinds of names, where each begins, and from where to where its value was recognised."""
    if not clues.may_name_value:
        return
    text = clues.text
    for name in _NAMES.finditer(_to_names(text, clues.small), max(0, clues.first_name - _MAX_PREFIX_CHARS)):
        start, end = name.span()
        kind = name.lastgroup or ""
        if kind == "bare" and not _DETERMINER.search(text[max(0, start - 12) : start]):
            continue
        value = _VALUES[kind].match(text[end : end + _NEAR_CHARS])
        if value:
            yield kind, start, (end + value.start(value.lastindex or 0), end + value.end())


def _to_names(text: str, small: str) -> str:
    """Return a text in which names are found: in small letters, but for the word TAN, which `tan` does not mean."""
    if "TAN" not in text:
        return small
    letters = list(small)
    for match in _TAN.finditer(text):
        letters[match.start() : match.end()] = match[0]
    return "".join(letters)


class WordEnds:
    """The ends of the words of a text: many values may stand in one word, which is read once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._read = (0, -1)

    def of(self, place: int) -> int:
        """Return where the word ends that goes on at a place."""
        if not self._read[0] <= place <= self._read[1]:
            rest = _WORD_REST.match(self.text, place)
            self._read = (place, rest.end() if rest else place)
        return self._read[1]


def _is_card(digits: str) -> bool:
    """Return whether a number ends with the check digit of a card's (ISO/IEC 7812-1, by Luhn)."""
    numbers = [int(char) for char in reversed(digits) if char.isdigit()]
    doubled = (sum(divmod(2 * number, 10)) for number in numbers[1::2])
    return 13 <= len(numbers) <= 19 and (sum(numbers[::2]) + sum(doubled)) % 10 == 0
