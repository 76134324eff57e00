"""Parts that several views are made of: values, rows of differences, fields, versions."""
