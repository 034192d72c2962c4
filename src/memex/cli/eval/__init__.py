"""Commands that check memory: test cases, fixed states, and whether a chat model pays."""
