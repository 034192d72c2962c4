"""The kinds of clauses about work: clauses with their surroundings, their features, a linear model."""
