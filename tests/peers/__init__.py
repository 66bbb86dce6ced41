"""Agreement with other libraries: p, q, estimates and laws."""
