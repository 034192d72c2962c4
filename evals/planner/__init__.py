"""What a model that picks lines brings beside the rules, and what a perfect one could bring."""
