"""What each mechanism of contexts and of remembering brings to the whole job: measured without it."""
