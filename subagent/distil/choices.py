"""The statements of messages that are kept: those of some kinds, or what a model of an earlier version chose. Pure.

A choice is a span of a message and a kind. The statement itself is what the rules read at that span, so a replay of
such a call needs no text of a message in the log.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memex.subagent.distil.reading import MessageReading
from memex.subagent.statements.extraction import SkippedSpan
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.referring import begins_with_reference
from memex.subagent.statements.subjects import normal_form

# How a note begins that tells of the person or of theirs, and does not ask an assistant for something; or it says
# how a thing is called, or where it stands.
_OWN = re.compile(
    r"(?:I(?:'m|'ve)?(?! (?:need|want (?:to|you)|would like|have to|must|think|guess)\b)|My"
    r"|Ich(?! (?:brauche|muss|möchte)\b)|Meine?r?|J'|Je(?! (?:veux|voudrais|dois)\b)|Mon|Ma|Mes"
    r"|Yo|Mi|Mis"
    r"|(?:Our|Unsere?|Notre|Nos|Nuestr[oa]s?)"
    r"(?! (?:\S{1,40} ){1,5}?(?:needs?|should|must|braucht|muss|doit|debe)\b)"
    r"|(?:The|Der|Die|Das|Le|La|Les|El|Los|Las) (?:[\w'-]{1,40} ){1,5}?(?:heißt|s'appelle|se llama"
    r"|(?:is|are) (?:(?:called|named)(?! (?:from|by|with|when|in|on|at|after|before|once|twice|again)\b)"
    r"|(?:stored|hosted|kept) (?:in|on|at|under)))"
    r")\b"
)
# A note about a thing, or about what the person and others do as a rule: in the present, and with a value, such as
# a name, a day or a number. A remark about the moment, about the talk or about a condition is none.
_THING = re.compile(
    r"(?:(?:The|Der|Die|Das|Le|La|Les|El|Los|Las) |L')"
    r"(?!(?:above|error|[Pp]robl[eè]ma?|issue|next|last|answer|probability|Fehler|Frage|Antwort|erreur)\b)"
    r"(?:(?!(?:should|must|if|when)\b)[\w'’.-]{1,40} ){1,6}?"
    r"(?:(?:is|are)(?! \w+ing\b)|(?:has|have)(?! \w+ed\b)|ist|sind|hat|haben|est|sont|a|ont|son|está|están"
    r"|tiene|runs?|lives?|costs?|begins?|starts?|ends?|opens?|closes?|expires?|uses?|belongs?|stays?|goes"
    r"|leaves|läuft|liegt|kostet|beginnt|endet|gehört|coûte|commence|finit|expire|utilise|cuesta|empieza"
    r"|termina|vence|usa) "
    r"[^\n]*?(?:\d|\w\.\w|\b(?:every|each|jede[nrs]?|chaque|cada|[A-ZÄÖÜÉ]\w))"
    r"|(?:We (?:use|host|run|keep|store|deploy|release|ship|pay|charge|bill|meet|rent|sell|support|back up|own)"
    r"|Wir (?:nutzen|verwenden|betreiben|haben|zahlen|treffen uns|verkaufen|mieten)"
    r"|Nous (?:utilisons|hébergeons|payons|vendons|louons)|Usamos|Alojamos|Pagamos|Vendemos) "
)
_OF_THE_MOMENT = re.compile(
    r"\b(?:again|still|now|yet|already|just|currently|today|tonight|tomorrow|yesterday|here|this|these|seems?|wrong"
    r"|fails?|jetzt|gerade|noch|heute|hier|maintenant|encore|ici|ahora|todavía|aquí|you|your|I)\b"
    r"|[=`\\?\n]|\d/\d",
    re.IGNORECASE,
)
NEAR = 0.8  # of the words of two statements that say the same

# By the name of each message that the model was shown: where a statement begins and ends, and its kind.
StatementChoices = Mapping[str, Sequence[tuple[int, int, StatementKind]]]


def apply_choices(messages: Sequence[MessageReading], choices: StatementChoices) -> list[MessageReading]:
    """Return messages with the statements that were chosen; of those that were not shown, with all of them."""
    return [
        _apply(message, choices[message.said.link]) if message.said.link in choices else message
        for message in messages
    ]


def of_kinds(messages: Sequence[MessageReading], kinds: Collection[StatementKind]) -> list[MessageReading]:
    """Return messages with the statements of some kinds alone; of near-equal ones the newest, as said last.

    A note that a person begins with `I`, `My` or `Our` is a fact, as one of the kind `profile` is, and so is one
    that says how a thing is called, where it stands, or another value of it that lasts. What begins with a pronoun,
    such as `She wants them by Thursday.`, is left out.
    """
    told: dict[StatementKind, list[frozenset[str]]] = {}
    kept: dict[str, MessageReading] = {}
    newest_first = sorted(
        messages, key=lambda reading: (reading.message.said_at_s, reading.said.place), reverse=True
    )
    for message in newest_first:
        own, left = [], []
        for statement in message.statements:
            words = frozenset(normal_form(statement.text))
            is_own = "profile" in kinds and statement.kind == "note" and _is_own(statement.text)
            is_asked = statement.kind in kinds or is_own
            if not is_asked or begins_with_reference(statement.text):
                left.append(SkippedSpan(statement.start, statement.end, "other"))
            elif any(_are_near(words, known) for known in told.setdefault(statement.kind, [])):
                left.append(SkippedSpan(statement.start, statement.end, "duplicate"))
            else:
                told[statement.kind].append(words)
                own.append(statement)
        skipped = tuple(sorted((*message.skipped, *left), key=lambda skip: skip.start))
        kept[message.said.link] = replace(message, statements=tuple(own), skipped=skipped)
    return [kept[message.said.link] for message in messages]


def _is_own(text: str) -> bool:
    """Return whether a note tells of the person, of theirs, or a value of a thing that lasts."""
    return bool(_OWN.match(text) or (_THING.match(text) and not _OF_THE_MOMENT.search(text)))


def _are_near(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether one statement says all that the other says, with few words more, none of them a number."""
    more = words ^ others
    is_part = words <= others or others <= words
    return is_part and all(map(str.isalpha, more)) and len(words & others) >= NEAR * len(words | others)


def _apply(message: MessageReading, chosen: Sequence[tuple[int, int, StatementKind]]) -> MessageReading:
    kinds = {(start, end): kind for start, end, kind in chosen}
    kept = tuple(
        replace(statement, kind=kinds[statement.start, statement.end])
        for statement in message.statements
        if (statement.start, statement.end) in kinds
    )
    left = [
        SkippedSpan(statement.start, statement.end, "other")
        for statement in message.statements
        if (statement.start, statement.end) not in kinds
    ]
    skipped = tuple(sorted((*message.skipped, *left), key=lambda skip: skip.start))
    return replace(message, statements=kept, skipped=skipped)
