"""The gain of a model that picks lines over the rules alone, and the gain that a perfect one could bring."""
