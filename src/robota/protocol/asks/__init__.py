"""What the engine asks and how it is answered, as typed values."""
