"""Text of PDF, Word, spreadsheet and notebook files."""
