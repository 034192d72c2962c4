"""Labelled texts that people write to an assistant, and labelled questions that they ask it later."""
