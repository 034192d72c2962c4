"""Codes of locks: a door, a safe, an alarm or a phone, and the digits that open it. Pure.

A code is found by the lock and by what links it to a value: a verb of opening (`opens with 4471`), or a mark
(`bike lock: 7304`). English, German, French and Spanish.
"""

import re
from collections.abc import Iterator

from memex.subagent.statements.secrets.patterns import lazy_pattern

# What has a code and nothing else that is written in digits; a value may follow without a mark.
_LOCKS = (
    r"(?:bike |bicycle |combination |door |front ?door |gate |suitcase )?(?:pad)?lock|lock ?box|keypad"
    r"|key ?safe|key ?box"
    r"|(?:gun |wall |office )?safe|burglar alarm|alarm"
    r"|(?:fahrrad|zahlen|vorhänge|bügel|koffer|tür)?schloss|tresor|schlüssel(?:box|tresor|kasten|safe)"
    r"|alarmanlage"
    r"|cadenas|antivol|coffre(?:-fort)?|alarme|boîte à clés?|digicode"
    r"|candado|caja fuerte|alarma|cerradura|cajetín"
)
_DOORS = (
    r"(?:front |back |side |garage |barn |cellar |main |office )?(?:door|gate)|garage|locker|shed|till"
    r"|cash register|minibar|vault"
    r"|entrance|intercom"
    r"|(?:haus|keller|büro|wohnungs|garagen|eingangs|garten|lager)?(?:tür|tor)|spind|schließfach|garage"
    r"|eingang|schranke"
    r"|porte|portail|casier|garage|interphone|entrée|puerta|portal|portón|taquilla|garaje|trastero|verja"
)
# What is opened by a code too, and has many other numbers.
_OTHERS = (
    r"voice ?mail|mailbox|answer(?:ing machine|phone)|anrufbeantworter|mailbox|messagerie|répondeur|buzón"
    r"|building|flat|apartment|house|office|stairwell|phone|mobile|tablet|ipad|iphone|laptop|suitcase"
    r"|airbnb|parking"
    r"|haus|gebäude|büro|handy|telefon|koffer|treppenhaus|tiefgarage|wohnung"
    r"|immeuble|téléphone|portable|valise|parking|local|bureau|edificio|móvil|teléfono|maleta|oficina|piso"
)
_OPENING = lazy_pattern(
    r"(?<![^\W_])(?:open(?:s|ed|ing)?|unlock(?:s|ed)?|disarm(?:s|ed)?|get (?:in|into)|let (?:your|my"
    r"|our)self in|(?:turn|switch|shut)s? (?:it )?(?:off|on)"
    r"|type|dial|enter|punch in|tap in|key in|press|off|on"
    r"|auf(?:machen|gehen|sperren)?|aufgeht|öffne[nt]?|öffnest|entsperr\w*|(?:de)?aktivier\w*|schalte\w*"
    r"|scharf|unscharf|tipp\w*|gib\w*|wähl\w*|drück\w*|reinkommen|rein"
    r"|ouvre\w*|ouvrir|déverrouill\w*|(?:dés)?active\w*|désarm\w*|entre[rz]?|compose[rz]?|tape[rz]?"
    r"|fai[st]e?s?"
    r"|abr\w+|desbloque\w*|(?:des)?activ\w+|marc\w+|tecle\w*|puls\w*|entr\w+)(?![^\W_])",
    re.IGNORECASE,
)
_BY = (
    r"(?:with|using|by|then|dann|puis|luego|is|are|=|:|type|dial|enter|punch in|tap in|key in|press|mit|ist"
    r"|tipp\w*|gib\w*|wähl\w*|drück\w*"
    r"|avec|en tapant|en faisant|c'est|est|fai(?:s|tes)|tape[rz]?|compose[rz]?|au|con|marc\w+|tecle\w*"
    r"|puls\w*|es)"
    r"(?: (?:code|the code|den code|le code|el código|pin|die|der|das|the|le|el))?\s*[\"'`(:]*\s*"
)
_UNIT = (
    r"(?!\d|[.,:/]\d| ?(?:[%€$£]|digits?|chars|letters?|times?|days?|hours?|min\w*|weeks?|months?|years?"
    r"|people|users?|tage"
    r"|mal|jahre|zeichen|stellen|chiffres|jours|fois|ans|cifras|dígitos|días|veces|años|km|mm|cm|m|m²|kg|g"
    r"|ms|s|mah|w|v|hz|db|kb|mb|gb|euros?|pounds?|quid|yen|francs?|dollars?|chf|uhr|am|pm)"
    r"(?![^\W_]))"
)
_CODE = (
    r"(?:(?<![\w€$£#+.,-])(?:(?=[A-Z0-9]{3,8}[#*]?(?!\w))(?=[A-Z]?\d?[A-Z]?\d)(?-i:(?=[A-Z]*\d[A-Z]*\d)(?:\d{1,7}[A-Z]{1,2}\d{0,5}|[A-Z]\d{3,6}|\d{4,8}))[#*]?"
    rf"|\d{{1,3}}(?:(?: ?[-–/] ?|, ?| )\d{{1,3}}){{2,5}}){_UNIT})"
)
# Single digits, as one sets them on wheels.
_WHEELS = r"(?<![\w.,:/-])\d(?:(?: ?[-–,] ?| )\d){2,7}(?![\w:/-]|[.,]\d)" + _UNIT
_TURNS = r"(?:left|right|links|rechts|gauche|droite|izquierda|derecha)\s+\d{1,2}\b.{1,20}?\d{1,2}\b"
# In small letters.
_LOCK = lazy_pattern(
    rf"(?<![^\W_])(?:(?P<lock>{_LOCKS})|(?P<door>{_DOORS})|(?P<other>{_OTHERS}))(?![^\W_]| (?:threshold"
    rf"|limit|rate|sound|rent|fee|budget))"
)
_ANY_CODE = lazy_pattern(rf"{_CODE}|{_WHEELS}|{_TURNS}", re.IGNORECASE)
_AFTER_VERB = lazy_pattern(rf"(?<![^\W_]){_BY}(?P<code>{_CODE}|{_TURNS})", re.IGNORECASE)
# What may stand between a lock and its code: where it is, then a mark.
_AFTER_MARK = lazy_pattern(
    r"(?:'s)?(?: (?:off|on|code|pin|number|combo|combination|downstairs|unten|oben|en bas|abajo|aus|an))?"
    r"(?: (?:in|at|of|for|on|to|im|am|vom|von|der|des|du|de|de la|del|für|zum|zur) (?:the |my |our |la |le "
    r"|el |mein\w* )?[\w'-]{1,20}(?: [\w'-]{1,20})?)?"
    rf"\s*(?:[:=–—-]|\bis|\bist|\bc'est|\bes)\s*(?P<code>{_CODE}|{_TURNS})",
    re.IGNORECASE,
)
_SET = lazy_pattern(_WHEELS)
_WANTED = lazy_pattern(
    r"(?<![^\W_])(?:with|wants|needs|takes|mit|brauch(?:s?t|en)(?: du| man| ihr| wir)?|will|avec"
    r"|(?:il )?faut|veut|con|necesitas?|quiere|pide)"
    rf"(?: (?:code|the code|den code|le code|el código|pin|die|der|das|the|le"
    rf"|el))?\s+[\"'`(]*(?P<code>{_CODE})",
    re.IGNORECASE,
)
# Behind a thing that has a code and nothing else in digits, any such number may be it.
_CLOSE = lazy_pattern(
    r"(?<![£$€+#/.,:\d])(?<!\bin )(?<!\bon )(?<!\bam )(?<!\ble )(?<!\bsince )(?<!\bseit )(?<!\bcosts )"
    r"(?<!\bkostet )(?<!\bcoûte )(?<!\bcuesta )"
    r"(?<!\bdepuis )(?<!\bdesde )(?<!\broom )(?<!\bmodel )"
    r"(?<!\bmodell )(?<!\bcall )(?<!\bring )(?<!\bfor )(?<!\bversion )(?<!\buntil )(?<!\bbis )"
    rf"(?P<code>(?!(?:19|20)\d\d(?!\d)){_CODE})"
)
_LABELLED = lazy_pattern(
    r"(?<![^\W_])(?:code|pin|combo|combination|combinaison|código|kombination)(?: (?:is|ist|est|es|now"
    r"|c'est))?\s*[:=]?\s+"
    rf"(?P<code>{_CODE})",
    re.IGNORECASE,
)
_NEXT = lazy_pattern(rf"\s+(?P<code>{_CODE})(?=[\"'`*).,;!]*(?:\s*$|[.,;]\s))", re.IGNORECASE)
_CLAUSE_END = lazy_pattern(r"[!?;]\s|(?<!Nr)(?<!no)\.\s|\n")
_NEAR_CHARS = 90


def find_lock_codes(text: str, small: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield from where to where a lock and its code reach, and the code alone.

    Args:
        text: with straight quotes.
        small: the same in small letters (`to_small`).
    """
    if not _ANY_CODE.search(text):
        return
    for lock in _LOCK.finditer(small):
        start, end = _clause(text, lock.start(), lock.end())
        code = _code_of(lock, text, start, end)
        if code:
            yield (min(lock.start(), code[0]), code[1]), code


def _code_of(lock: re.Match[str], text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where the code of a lock stands, within its clause."""
    if lock.lastgroup != "other" and (marked := _AFTER_MARK.match(text, lock.end(), end)):
        return marked.span("code")
    if lock.lastgroup == "lock" and (following := _NEXT.match(text, lock.end(), end)):
        return following.span("code")
    if wheels := _SET.search(text, start, end):
        return wheels.span()
    if lock.lastgroup == "lock" and (close := _CLOSE.search(text, lock.end(), end)):
        return close.span("code")
    if lock.lastgroup != "other":
        wanted = _WANTED.search(text, start, end) or _LABELLED.search(text, start, end)
        if wanted:
            return wanted.span("code")
    if _OPENING.search(text, start, end) is None:
        return None
    opened = _AFTER_VERB.search(text, start, end)
    return opened.span("code") if opened else None


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of the sentence around a lock in which its code may stand."""
    before = max(0, start - _NEAR_CHARS)
    ends = [mark.end() for mark in _CLAUSE_END.finditer(text, before, start)]
    after = _CLAUSE_END.search(text, end, end + _NEAR_CHARS)
    return (ends[-1] if ends else before), (after.start() if after else end + _NEAR_CHARS)
