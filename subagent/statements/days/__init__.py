"""The days that statements and questions speak of: named from the day on which they are said, and due days."""
