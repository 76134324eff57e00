"""Every view in step with the database, and the focus where the person is: sequences of writes, and random walks."""
