"""The repair centre: findings by class, the ticked plan, the dry run of each item, and the repair."""
