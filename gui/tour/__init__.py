"""Every view as a picture, without a display."""
