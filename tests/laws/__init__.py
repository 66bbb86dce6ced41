"""Laws that every registered mechanism keeps, checked by algebra."""
