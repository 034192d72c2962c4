"""What ends an item of work: the decision of a person, the end of an agent's plan, and what proves it."""
