"""What every room stands on: records, news, addresses, findings, whole files."""
