"""Files that appear when they are whole; and the lines, records and labels of text files."""
