"""Still figures drawn with matplotlib, each a function from numbers to a `Figure`."""
