"""The pages behind the tabs: each composes views and wires their signals."""
