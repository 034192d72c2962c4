"""Readers of conversations: exports of chat providers, transcripts of agents. No database, no network.

`places.survey` finds what a path holds, a `reader.Reader` a format gives its conversations, and `records`
holds what they give. Nothing that an export names is fetched.
"""
