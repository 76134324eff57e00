"""The window: draws and asks; decides nothing about versions."""
