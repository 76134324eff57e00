"""How everything looks: tokens, symbols, cells, states and words that every view shares."""
