"""Sentences that say of whom or what they speak only by what stands before them. Pure."""

import re

_REFERENCE = re.compile(
    r"(?:She|He|They|It|Er|Sie|Es(?! gibt)|Ils?(?! (?:y a|(?:ne )?faut|fait)\b)|Elles?|Él|Ell[oa]s?|Eso|Esto)\b"
    r"|(?:This|That|These|Those) (?:is|are|was|were|has|have|will|would|means|makes|won't|\w+n't)\b"
    r"|(?:Das|Dies) (?:ist|war|wird|weiß|hat|kann|geht|heißt)\b|C'est\b|[^ ]+ it is\b"
)
# Behind words that name nobody: `I don't like him`, `Ich habe ihr nichts gesagt`.
_NAMELESS = r"(?:(?:[a-zà-ÿ]+(?:['’][a-z]+)?|I(?:['’][a-z]+)?|We|You|Please|Ich|Wir|Je|Nous|Yo|Don['’]t) )"
_NAMING = (
    r"(?:my|our|your|the|an?|mein\w*|unser\w*|der|die|das|ein\w*|mon|ma|mes|notre|le|la|les|une?|mi|mis|el)\b"
)
_OBJECT = re.compile(
    rf"(?:(?!{_NAMING}){_NAMELESS}){{1,6}}(?:him|her|them|ihn|ihm|ihr|ihnen|lui|leur|con él|con ella)\b"
)


def begins_with_reference(text: str) -> bool:
    """Return whether a sentence begins with a pronoun for what stood before it: `He lives in Kassel now`."""
    return _REFERENCE.match(text) is not None


def refers_back(text: str) -> bool:
    """Return whether a sentence speaks of somebody or something by a pronoun, and names nothing before it."""
    return begins_with_reference(text) or _OBJECT.match(text) is not None
