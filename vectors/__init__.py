"""Wire vectors: good ones, and bad ones that a reader must refuse."""
