"""What a clause of a turn says about work: clauses with their surroundings, their features, a linear model."""
