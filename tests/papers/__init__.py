"""The five papers: claims that do not hold, each with a counterexample that is computed here."""
