"""The search for damage, shared by layouts: reading in order, facts about versions, and the rules over these."""
