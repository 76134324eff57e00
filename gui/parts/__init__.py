"""Parts shared by several views: values, rows of differences, fields, versions."""
