"""The tests of Sottovoce."""
