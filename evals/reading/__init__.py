"""What people write to an assistant and ask it later, labelled."""
