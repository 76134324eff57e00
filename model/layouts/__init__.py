"""The storage layouts, one file each; none knows another."""
