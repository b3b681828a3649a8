"""What the log of a check says, one module for each tool."""
