"""The kinds of sections; `sections.py` says how one is added."""

from memex.service.included.conversations import CONVERSATIONS
from memex.service.included.documents import DOCUMENTS
from memex.service.included.sections import Kinds

KINDS: Kinds = {kind.name: kind for kind in (CONVERSATIONS, DOCUMENTS)}
