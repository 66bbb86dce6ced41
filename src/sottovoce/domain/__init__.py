"""What can be answered: values, bins, ranges and schemas; columns and tables of answers."""
