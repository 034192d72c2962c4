"""The gain of each mechanism of contexts and of remembering for the whole job: measured without it."""
