"""Agreement with other libraries where they compute the same thing."""
