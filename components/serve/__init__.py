"""Translation outside of a sweep: lines of text, and a model for a server."""
