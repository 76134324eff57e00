"""The look of everything: tokens, symbols, cells, states and words that every view shares."""
