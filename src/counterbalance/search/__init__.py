"""Search: for each factual the nearest inversion."""
