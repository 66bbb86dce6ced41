"""What can be answered: values, bins, ranges, schemas, and columns as people have them."""
