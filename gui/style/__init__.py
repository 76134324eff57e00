"""The look of everything: tokens, symbols, cells, states and labels that every view shares."""
