"""The check whether what was told is still there: each sentence is looked for by its own words."""
