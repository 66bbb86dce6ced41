"""Randomised response that knows a prior: optimality, privacy, estimators, published errors."""
