"""The whole job from outside: tell a service what people said, ask for it later, and count what comes back."""
