"""What stands behind a tab: each page composes views and wires their signals."""
