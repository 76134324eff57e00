"""What a repair is made of: classes of damage, plans, guarded writes, reports and the way back."""
