"""The repair centre: findings by class, the ticked plan, what each item would do, and doing it."""
