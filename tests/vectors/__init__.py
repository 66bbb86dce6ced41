"""The wire form against vectors that never change."""
