"""The rest of the library: domains, guarantees, estimates, files, studies."""
