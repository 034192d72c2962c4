"""What people write to an assistant and ask it later, labelled, and the classifiers that are fitted to it."""
