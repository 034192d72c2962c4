"""What a dream reads of a mount, and the proposals that it keeps."""
