"""What memory that was made from conversations holds, beside the conversations themselves."""
