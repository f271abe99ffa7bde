"""Sessions inside other programs: opening them, following them, and functions of the program as tools."""
