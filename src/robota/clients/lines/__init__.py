"""What clients that talk to a person in lines share: safe text, colours and width, progress, signals."""
