"""The check whether what was told is recalled right after the answer, also while much else is indexed."""
