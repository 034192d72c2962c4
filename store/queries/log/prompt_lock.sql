-- Wait for the calls that are being logged with a prompt, and let no other be until the transaction ends.
lock table prompt in share row exclusive mode;
