"""Numbers and names as people write and read them: units, quantities, colours, endpoints."""
