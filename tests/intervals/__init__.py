"""Intervals hold: at least .93 for every cell of a stress grid, at a stated 95 %."""
